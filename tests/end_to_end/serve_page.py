"""serve_page.py CROPE ADDRESS RUN PICTURES: what a user does with the page of `crope serve`, in a browser."""

import json
import subprocess
import sys
import urllib.request

from browser import Browser

crope, address, run, pictures = sys.argv[1:5]
PROMPT = "The children went to the river. Then"


def check(condition, what):
    if not condition:
        sys.exit(f"serve_page: {what}")


def api(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address.rstrip("/") + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def text_of(page, selector):
    return page.value(f"document.querySelector({json.dumps(selector)}).textContent")


def set_number(page, field, value):
    page.value(f"(() => {{ const f = byId('{field}'); f.value = '{value}'; f.dispatchEvent(new Event('input', {{bubbles: true}})); }})()")


def check_layout(page, where):
    """Nothing makes the page wider than its window, nothing stands outside it, no label stands on another."""
    # Not innerWidth: a phone zooms out until a page that is too wide fits.
    wide = page.value("document.documentElement.scrollWidth")
    check(wide <= page.width, f"{where}: the page is {wide} wide, the window {page.width}")
    outside = page.value("""[...document.querySelectorAll('main *, header *')].filter(e => e.getClientRects().length
        && !e.closest('.tokens') && e.getBoundingClientRect().right > %d + 0.5).map(e => e.outerHTML.slice(0, 80))""" % page.width)
    check(not outside, f"{where}: past the right edge: {outside}")
    cut = page.value("""[...document.querySelectorAll('button, label, legend, dt, dd, th, td, caption, .caption')].filter(e => e.getClientRects().length
        && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline').map(e => e.outerHTML.slice(0, 80))""")
    check(not cut, f"{where}: cut off: {cut}")
    touching = page.value("""(() => { const boxes = [...document.querySelectorAll('svg text')].map(e => [e.textContent, e.getBoundingClientRect()]).filter(b => b[1].width);
        const hits = []; boxes.forEach(([a, x], i) => boxes.slice(i + 1).forEach(([b, y]) => {
          if (x.left < y.right - 1 && y.left < x.right - 1 && x.top < y.bottom - 2 && y.top < x.bottom - 2) hits.push(a + ' / ' + b); })); return hits; })()""")
    check(not touching, f"{where}: labels on each other: {touching}")


def write_text(page):
    """Types a prompt, watches the stream, and compares it with `crope generate`."""
    page.value("byId('prompt').value = ''; byId('prompt').focus()")
    page.type(PROMPT)
    for field, value in {"temperature": 1, "top_p": 1, "max_tokens": 40, "seed": 7}.items():
        set_number(page, field, value)
    page.value("""window.batches = 0; new MutationObserver(() => { ++window.batches; }).observe(byId('text'), {childList: true})""")
    page.click("#generate")
    page.wait_for("byId('status').textContent.startsWith('Wrote')")
    check(page.value("window.batches") > 2, "the answer came at once, not as a stream")
    shown = page.value("[...document.querySelectorAll('#text [role=option]')].map(e => e.textContent).join('')")
    written = subprocess.run([crope, "generate", run, "--prompt", PROMPT, "--max-tokens", "40", "--temperature", "1", "--seed", "7"],
                             capture_output=True, text=True, check=True).stdout
    check(shown.startswith(PROMPT), f"the prompt is not there: {shown!r}")
    check(written.removeprefix(PROMPT).strip() == shown.removeprefix(PROMPT).strip(),
          f"the page shows {shown!r}, 'crope generate' writes {written!r}")
    shades = page.value("[...new Set([...document.querySelectorAll('#text [role=option]')].map(e => e.style.getPropertyValue('--shade')))].length")
    check(shades > 3, "tokens are not shaded by their probabilities")


def see_alternatives(page):
    x, y = page.middle("#text [role=option]:nth-child(9)")
    page.point(x, y)
    page.wait_for("!byId('popover').hidden")
    numbers = page.value("[...document.querySelectorAll('#popover .number')].map(e => e.textContent)")
    check(len(numbers) in (5, 6), f"expected five alternatives, got {numbers}")
    check(page.value("document.querySelectorAll('#popover .number.chosen').length") == 1, "the token itself is not marked")
    page.point(1, 1)
    page.wait_for("byId('popover').hidden")
    page.value("document.querySelector('#text [role=option]').focus()")
    page.press("ArrowRight")
    page.wait_for("!byId('popover').hidden")
    check(page.value("document.activeElement.dataset.index") == "1", "the arrow key does not move on")
    check(page.value("getComputedStyle(document.activeElement).outlineStyle") != "none", "the focus cannot be seen")
    page.press("Escape")


def stop_early(page):
    """Short windows end soon: several answers, until one is caught in the middle."""
    set_number(page, "max_tokens", 10000)
    page.value("byId('prompt').focus()")
    for _ in range(50):
        page.value("""new Promise(resolve => { new MutationObserver((_, observer) => { if (document.querySelectorAll('#text [role=option]').length > 14)
            { observer.disconnect(); byId('stop').click(); resolve(); } }).observe(byId('text'), {childList: true}); byId('generate').click(); })""")
        page.wait_for("!byId('generate').disabled")
        if text_of(page, "#status") == "Stopped.":
            return
    check(False, "the stop button never stopped an answer")


def answers(page):
    return page.value("[...document.querySelectorAll('#messages .assistant p')].map(e => e.textContent)")


def chat(page):
    """Two turns, each equal to the server's own answer to the conversation so far; another answer; an early stop; a new chat."""
    page.click("#tab-chat")
    set_number(page, "max_tokens", 6)
    system, turns = "Write about water.", ["The river", "And <b>then</b>?"]
    page.value(f"byId('system').value = {json.dumps(system)}")
    said = [{"role": "system", "content": system}]
    for turn, text in enumerate(turns):
        page.value("byId('message').focus()")
        page.type(text)
        page.press("Enter")
        page.wait_for(f"document.querySelectorAll('#messages .assistant').length === {turn + 1} && !byId('send').disabled")
        said.append({"role": "user", "content": text})
        settings = {"temperature": 1, "top_p": 1, "seed": 7, "max_completion_tokens": 6}
        expected = api("/v1/chat/completions", {"messages": said, **settings})["choices"][0]["message"]["content"]
        check(answers(page)[turn] == expected, f"the page shows {answers(page)!r}, the server answers {expected!r}")
        said.append({"role": "assistant", "content": expected})
    shown = page.value("[...document.querySelectorAll('#messages .user p')].map(e => e.textContent)")
    check(shown == turns, f"the messages are shown as {shown!r}")
    check(page.value("document.querySelectorAll('#messages b').length") == 0, "a message became a part of the page")
    page.click("#again")
    page.wait_for("!byId('again').disabled")
    check(answers(page) == [m["content"] for m in said if m["role"] == "assistant"], "the same seed gives another answer")
    set_number(page, "max_tokens", 10000)
    for _ in range(50):
        page.value("""new Promise(resolve => { byId('again').click(); const watch = () => { const last = [...document.querySelectorAll('#messages .assistant p')].at(-1);
            if (byId('chat-stop').disabled) resolve(); else if (last.textContent.length > 10) { byId('chat-stop').click(); resolve(); } else setTimeout(watch, 1); }; watch(); })""")
        page.wait_for("!byId('send').disabled")
        if text_of(page, "#chat-status") == "Stopped.":
            break
    else:
        check(False, "the stop button never stopped an answer of the chat")
    check(len(answers(page)) == 2 and answers(page)[1], "what was written before the stop is gone")
    page.click("#clear")
    check(not answers(page), "a new chat still has the old answers")
    set_number(page, "max_tokens", 40)


def look_at_attention(page, is_complex):
    page.value("byId('tab-chat').focus()")
    page.press("ArrowRight")  # the next view, by keyboard
    page.wait_for("!byId('panel-attention').hidden && !byId('attention-body').hidden")
    tokens = page.value("document.querySelectorAll('#strip [role=option]').length")
    check(tokens == page.value("document.querySelectorAll('#text [role=option]').length"), "the strip is not the text")
    painted = page.value("(() => { const c = byId('heat-map'); const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; const s = new Set();"
                         "for (let i = 0; i < d.length; i += 4) if (d[i + 3]) s.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return s.size; })()")
    check(painted > 10, f"the heat map has {painted} colours")

    page.value("byId('head').value = '1'; byId('head').dispatchEvent(new Event('change'))")
    page.wait_for("byId('heat-map').getAttribute('aria-label').includes('head 1')")
    # The text encoded again may be other tokens: the ids are those of the same answer.
    ids = api("/tokenize", {"prompt": PROMPT})["tokens"]
    ids += api("/v1/completions", {"prompt": PROMPT, "max_tokens": 40, "temperature": 1, "seed": 7, "return_token_ids": True})["choices"][0]["token_ids"]
    answer = api("/api/attention", {"ids": ids, "layer": 0, "head": 1})
    check(len(answer["ids"]) == tokens and answer["complex"] == is_complex, "the server's view has another text")
    check(all(abs(sum(row) - 1) < 1e-3 for row in answer["weights"]), "rows do not sum to one")

    # The sixth token as query, by pointer: its strongest key in numbers.
    x, y = page.middle("#strip [role=option]:nth-child(6)")
    page.point(x, y)
    page.wait_for("byId('strip-caption').textContent.includes('token 5')")
    check(f"{max(answer['weights'][5]):.4f}" in text_of(page, "#pair"), "the numbers are not those of the query")
    # A cell of the map, by click and by keyboard.
    x, y = page.middle("#heat-map")
    page.point(x - 60, y + 60, click=True)
    before = text_of(page, "#pair")
    page.value("byId('heat-map').focus()")
    page.press("ArrowLeft")
    check(text_of(page, "#pair") != before, "arrow keys do not move in the map")
    check(page.value("document.querySelectorAll('#attention-colour input').length") == (3 if is_complex else 1), "phases for the wrong kind of head")
    if is_complex:
        page.click("#attention-colour label:nth-of-type(2)")
        page.wait_for("byId('attention-legend').textContent.includes('180')")
        check("added by positions" in text_of(page, "#pair"), "a complex pair has no phase")
        check(page.value("document.querySelectorAll('#dial line').length") > 2, "the dial is empty")


def watch_training(page):
    page.click("#tab-training")
    page.wait_for("document.querySelectorAll('#loss-chart path').length === 2")
    known = api("/api/run?after=0")
    steps = known["last_step"]
    check(f"{steps:,}" in text_of(page, "#run-facts"), "the last step is not there")
    for axis in ("loss-axis", "step-axis"):
        page.click(f"#{axis} label:nth-of-type(2)")
        check_layout(page, f"{axis} log")
        page.click(f"#{axis} label:nth-of-type(1)")
    with open(run + "/metrics.jsonl", "a") as metrics:
        metrics.write(json.dumps({**known["latest"], "step": steps + 1}) + "\n" + '{"step":')
    page.wait_for(f"byId('run-facts').textContent.includes('{steps + 1:,}')")  # without being asked


def read_card(page):
    page.click("#tab-model")
    card = api("/api/model")
    check(f"{card['parameters']['total']:,}" in text_of(page, "#card"), "the card has another number of parameters")


with Browser() as page:
    page.size(1280, 900)
    page.open(address)
    page.wait_for("document.querySelector('[role=tab][aria-selected=true]') !== null")
    is_complex = len(api("/api/model")["tied"]) >= 2
    write_text(page)
    see_alternatives(page)
    stop_early(page)
    chat(page)
    page.click("#tab-write")
    write_text(page)
    look_at_attention(page, is_complex)
    watch_training(page)
    read_card(page)
    page.click("#theme")
    check(page.value("isDark()"), "the toggle does not make it dark")
    page.click("#theme")
    check(not page.value("isDark()"), "the toggle does not make it light again")

    for scheme in ("light", "dark"):
        page.colours(scheme)
        for width in (1280, 390):
            page.size(width, 900)
            for view in ("write", "chat", "attention", "training", "model"):
                page.click("#tab-" + view)
                page.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
                check_layout(page, f"{view} at {width}, {scheme}")
                page.screenshot(f"{pictures}/{view}_{width}_{scheme}.png")
    check(not page.complaints, f"the console has complaints: {page.complaints}")
    elsewhere = [url for url in page.requests if not url.startswith((address, "data:"))]
    check(not elsewhere, f"the page asks for {elsewhere}")
    print(f"{api('/api/model')['variant']}: the page works, {len(page.requests)} requests, none elsewhere")
