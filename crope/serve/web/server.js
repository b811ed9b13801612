"use strict";
// The server that the page came from.

class ServerError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

let apiKey = "";
try { apiKey = sessionStorage.getItem("crope.key") ?? ""; } catch { /* asked for again */ }

// Asks for the key, once for all that wait. Resolves to whether there is a new one.
let asking = null;
function askForKey() {
  asking ??= new Promise((resolve) => {
    const dialog = byId("key-dialog");
    dialog.addEventListener("close", () => {
      asking = null;
      const given = dialog.returnValue === "ok" && byId("key").value !== "";
      if (given) {
        apiKey = byId("key").value;
        try { sessionStorage.setItem("crope.key", apiKey); } catch { /* for this page only */ }
      }
      byId("key").value = "";
      resolve(given);
    }, { once: true });
    dialog.showModal();
  });
  return asking;
}

async function request(path, body, signal) {
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (apiKey) headers["Authorization"] = "Bearer " + apiKey;
  let response;
  try {
    response = await fetch(path, { method: body === undefined ? "GET" : "POST", headers, signal,
      body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError(0, "the server does not answer: is crope serve still running?");
  }
  if (response.ok) return response;
  if (response.status === 401 && await askForKey()) return request(path, body, signal);
  let message = `${response.status} ${response.statusText}`;
  try { message = (await response.json()).error.message ?? message; } catch { /* the status says it */ }
  throw new ServerError(response.status, message);
}

const getJson = async (path) => (await request(path)).json();
const postJson = async (path, body, signal) => (await request(path, body, signal)).json();

// Calls on_event(object) for each event of the answer, in order, until the server says [DONE].
async function postStream(path, body, signal, onEvent) {
  const reader = (await request(path, body, signal)).body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  while (true) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (waiting + value).split(/\r?\n/);
    waiting = lines.pop();
    for (const line of lines) {
      if (!line.startsWith("data:")) continue;
      const data = line.slice(5).trim();
      if (data === "[DONE]") return;
      const event = JSON.parse(data);
      if (event.error) throw new ServerError(500, event.error.message);
      onEvent(event);
    }
  }
}

// What went wrong, above every view; nothing when `error` is null.
function showTrouble(error) {
  const place = byId("trouble");
  place.hidden = error === null;
  place.textContent = error === null ? "" : error.message;
}
