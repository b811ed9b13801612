"use strict";
// The card beside a token: how likely it was, and what else could have been there.

// token: {name, logprob, top: [[name, logprob]...]}; logprob is null for the first of a text.
function showAlternatives(node, token) {
  const popover = byId("popover");
  if (token.logprob === null || token.logprob === undefined) {
    popover.replaceChildren(element("p", {}, token.note ?? "The first token of a text: nothing predicts it."));
  } else {
    const rows = token.top.map(([text, logprob]) => ({ text, logprob }));
    if (!rows.some((row) => row.text === token.name)) rows.push({ text: token.name, logprob: token.logprob });
    rows.sort((x, y) => y.logprob - x.logprob);
    popover.replaceChildren(
      element("p", {}, `Probability ${percent(Math.exp(token.logprob))}, ${minus(token.logprob, 2)} nats`),
      bars(rows.map((row) => ({ text: row.text, value: Math.exp(row.logprob), number: percent(Math.exp(row.logprob)), chosen: row.text === token.name }))));
  }
  popover.hidden = false;
  node.setAttribute("aria-describedby", "popover");
  // Below the token's first line, above where there is no room, never past an edge.
  const token_box = node.getClientRects()[0] ?? node.getBoundingClientRect(), card = popover.getBoundingClientRect();
  const left = Math.min(Math.max(8, token_box.left), document.documentElement.clientWidth - card.width - 8);
  const below = token_box.bottom + 6, above = token_box.top - card.height - 6;
  popover.style.transform = `translate(${left}px, ${below + card.height < innerHeight || above < 0 ? below : above}px)`;
}

function hideAlternatives() {
  byId("popover").hidden = true;
  document.querySelector("[aria-describedby=popover]")?.removeAttribute("aria-describedby");
}
