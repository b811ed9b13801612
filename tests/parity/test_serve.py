"""The server against the clients that people have: lm_eval's local-completions, the openai package, Jinja."""

import concurrent.futures
import json
import os
import pathlib
import urllib.request

import pytest

from conftest import run_crope
from eval_models import add_tokenizer, synthetic_world, train, write_random_model
from serving import serve

# Before lm_eval itself: it sets where `datasets` works.
from lm_eval_tasks import local_task_manager, read_lines, write_lines

import lm_eval
import openai
from lm_eval.models.huggingface import HFLM

LIMITS = {"hellaswag": 200, "gsm8k": 20}
LIKELIHOOD_TOLERANCE = 2e-3


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return synthetic_world(tmp_path_factory.mktemp("world") / "world")


@pytest.fixture(scope="module")
def task_manager(world, tmp_path_factory):
    """Real benchmark files where there are some, else those of the synthetic world."""
    real = os.environ.get("CROPE_TEST_DATA")
    source = pathlib.Path(real) / "eval" if real else world / "eval"
    data = tmp_path_factory.mktemp("data")
    rows = read_lines(source / "hellaswag" / "hellaswag_val.jsonl")[:300]
    write_lines(data / "hellaswag" / "hellaswag_val.jsonl", rows)
    write_lines(data / "hellaswag" / "hellaswag_train.jsonl", rows[:1])
    for name in ("test", "train"):
        write_lines(data / "gsm8k" / f"{name}.jsonl", read_lines(source / "gsm8k" / f"{name}.jsonl"))
    return local_task_manager(data, tmp_path_factory.mktemp("tasks"))


@pytest.fixture(scope="module")
def model(world, tmp_path_factory):
    """A model that was trained for some seconds, and its export."""
    folder = tmp_path_factory.mktemp("model")
    run_crope("tokenizer", "train", world / "train.jsonl", "--vocab-size", 1000, "--out", folder / "tokenizer")
    start = write_random_model(folder / "start", "rope", 1024, seed=3)
    add_tokenizer(start, folder / "tokenizer")
    run_crope("export", start, folder / "hf", "--format", "hf")
    documents = [row["text"] for row in read_lines(world / "train.jsonl")]
    assert train(folder / "hf", documents, 300, folder / "trained_hf") < 3
    run_crope("import", folder / "trained_hf", folder / "trained")
    run_crope("export", folder / "trained", folder / "export", "--format", "hf")
    return folder / "trained", folder / "export"


@pytest.fixture(scope="module")
def server(model):
    with serve(model[0]) as address:
        yield address


@pytest.fixture(scope="module")
def client(server):
    return openai.OpenAI(base_url=server + "/v1", api_key="none", max_retries=0)


def post(address, path, body):
    data = json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(address + path, data=data)) as answer:
        return json.load(answer)


def run_lm_eval(model, task, task_manager, **arguments):
    return lm_eval.simple_evaluate(model=model, tasks=[task], limit=LIMITS[task], task_manager=task_manager, num_fewshot=0,
                                   log_samples=True, bootstrap_iters=100000, **arguments)  # fmt: skip


def compare(ours, theirs, task):
    metrics = {key: value for key, value in theirs["results"][task].items() if "," in key}
    assert metrics == {key: ours["results"][task][key] for key in metrics}
    samples = list(zip(ours["samples"][task], theirs["samples"][task], strict=True))
    assert len(samples) >= LIMITS[task]
    return samples


# One request a time as the two flags of the README have it, and many prompts in many requests.
@pytest.mark.parametrize("arguments", [{}, {"batch_size": 8}, {"batch_size": 4, "num_concurrent": 4}])
def test_lm_eval_likelihoods(arguments, server, model, task_manager):
    address = {"model": "crope", "base_url": server + "/v1/completions", **arguments}
    ours = run_lm_eval("local-completions", "hellaswag", task_manager, model_args=address)
    theirs = run_lm_eval(HFLM(pretrained=str(model[1]), dtype="float32", device="cpu", batch_size=16), "hellaswag", task_manager)
    for mine, other in compare(ours, theirs, "hellaswag"):
        for (likelihood, greedy), (expected, expected_greedy) in zip(
            mine["filtered_resps"], other["filtered_resps"], strict=True
        ):
            assert abs(likelihood - expected) < LIKELIHOOD_TOLERANCE
            assert greedy == expected_greedy


def test_lm_eval_generation(server, model, task_manager):
    # lm_eval keeps a token for itself: 513 stands for the window of 512 that the hf model has.
    address = {"model": "crope", "base_url": server + "/v1/completions", "max_length": 513, "batch_size": 4}
    ours = run_lm_eval("local-completions", "gsm8k", task_manager, model_args=address)
    theirs = run_lm_eval(HFLM(pretrained=str(model[1]), dtype="float32", device="cpu", batch_size=4), "gsm8k", task_manager)
    for mine, other in compare(ours, theirs, "gsm8k"):
        assert mine["resps"] == other["resps"]


def test_a_context_that_fills_the_window(server, model):
    """lm_eval's hf model reads 512 tokens and predicts one more."""
    ids = [(7 * i + i * i) % 1000 for i in range(513)]
    answer = post(server, "/v1/completions", {"prompt": [ids], "max_tokens": 1, "logprobs": 1, "echo": True, "temperature": 0})
    values = answer["choices"][0]["logprobs"]["token_logprobs"]
    expected = json.loads(run_crope("score", model[0], "--json", "--ids", ",".join(map(str, ids[:512]))))["logprobs"]
    assert len(values) == 514 and values[-1] is None
    assert values[1:512] == pytest.approx(expected[1:], abs=1e-3)
    peer = HFLM(pretrained=str(model[1]), dtype="float32", device="cpu")
    [(likelihood, _)] = peer._loglikelihood_tokens([(("", ""), ids[:500], ids[500:])], disable_tqdm=True)
    assert sum(values[500:513]) == pytest.approx(likelihood, abs=LIKELIHOOD_TOLERANCE)


PROMPTS = ["Once upon a time", "The box is", "All the drums", "Carl", "A question:", "In the shop", "Then", "Why did Noah"]


def generate(model_dir, prompt, *flags):
    return json.loads(run_crope("generate", model_dir, "--json", "--prompt", prompt, *flags))["choices"][0]


def streamed(client, prompt, **options):
    text, ids = "", []
    stream = client.completions.create(model="crope", prompt=prompt, stream=True, extra_body={"return_token_ids": True}, **options)
    for chunk in stream:
        text += chunk.choices[0].text
        ids += chunk.choices[0].token_ids
    return text, ids


@pytest.mark.parametrize("temperature", [0, 0.8])
def test_a_stream_is_what_generate_prints_alone_and_beside_seven_others(temperature, model, client):
    expected = [generate(model[0], prompt, "--max-tokens", 60, "--temperature", temperature, "--seed", 11) for prompt in PROMPTS]
    options = {"max_tokens": 60, "temperature": temperature, "seed": 11}
    for prompt, want in zip(PROMPTS, expected):
        assert streamed(client, prompt, **options) == (want["text"], want["ids"])
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda prompt: streamed(client, prompt, **options), PROMPTS))
    assert together == [(want["text"], want["ids"]) for want in expected]


def test_openai_completions(client):
    answer = client.completions.create(model="crope", prompt=["The box", "Once"], max_tokens=8, n=2, logprobs=3, temperature=0)
    assert [choice.index for choice in answer.choices] == [0, 1, 2, 3]
    for choice in answer.choices:
        assert len(choice.logprobs.tokens) == len(choice.logprobs.token_logprobs) == len(choice.logprobs.text_offset)
        for token, value, top in zip(choice.logprobs.tokens, choice.logprobs.token_logprobs, choice.logprobs.top_logprobs):
            assert len(top) == 3 and top[token] == value == max(top.values())
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    stopped = client.completions.create(model="crope", prompt="The box", max_tokens=40, temperature=0, stop=[" the", "."])
    assert stopped.choices[0].finish_reason == "stop"
    assert " the" not in stopped.choices[0].text and "." not in stopped.choices[0].text


def test_openai_streams_count_tokens(client):
    stream = client.completions.create(
        model="crope", prompt="The box", max_tokens=9, stream=True, stream_options={"include_usage": True}, extra_body={"ignore_eos": True}
    )
    chunks = list(stream)
    assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens == 9
    assert chunks[-2].choices[0].finish_reason == "length"


def test_openai_chat(client):
    messages = [{"role": "system", "content": "A story."}, {"role": "user", "content": "Where is the coin?"}]
    answer = client.chat.completions.create(
        model="crope", messages=messages, max_tokens=12, temperature=0, logprobs=True, top_logprobs=2
    )
    content = answer.choices[0].message.content
    assert answer.choices[0].message.role == "assistant" and not content.startswith(" ")
    for token in answer.choices[0].logprobs.content:
        assert len(token.top_logprobs) == 2 and token.logprob == token.top_logprobs[0].logprob
        assert bytes(token.bytes).decode(errors="replace")
    stream = client.chat.completions.create(model="crope", messages=messages, max_tokens=12, temperature=0, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == content


def test_openai_errors(client, server):
    assert [model.id for model in client.models.list()] == ["trained"]  # its folder's name
    with pytest.raises(openai.BadRequestError) as error:
        client.completions.create(model="crope", prompt="x", max_tokens=-1)
    assert error.value.param == "max_tokens" and error.value.type == "invalid_request_error"
    with pytest.raises(openai.BadRequestError) as error:
        client.completions.create(model="crope", prompt=[5] * 600)
    assert error.value.code == "context_length_exceeded"
    with pytest.raises(openai.BadRequestError):
        client.completions.create(model="crope", prompt=[10**6])
    with pytest.raises(openai.NotFoundError):
        client.embeddings.create(model="crope", input="x")


def test_a_key_is_asked_for(model, tmp_path):
    (tmp_path / "key").write_text("s3cret\n")
    with serve(model[0], "--api-key-file", tmp_path / "key") as address:
        for key in ("", "wrong"):
            with pytest.raises(openai.AuthenticationError):
                openai.OpenAI(base_url=address + "/v1", api_key=key or "-", max_retries=0).models.list()
        assert openai.OpenAI(base_url=address + "/v1", api_key="s3cret").models.list().data


def test_the_chat_template_is_the_one_of_jinja(server):
    import jinja2

    with urllib.request.urlopen(server + "/tokenizer_info") as answer:
        template = jinja2.Template(json.load(answer)["chat_template"])
    messages = [{"role": "system", "content": "S"}, {"role": "user", "content": "A"}, {"role": "assistant", "content": "B"},
                {"role": "user", "content": "C {{ x }}"}]  # fmt: skip
    text = template.render(messages=messages, add_generation_prompt=True)
    assert text == "S\nUser: A\nAssistant: B\nUser: C {{ x }}\nAssistant:"
    tokens = post(server, "/tokenize", {"prompt": text})["count"]
    answer = post(server, "/v1/chat/completions", {"messages": messages, "max_tokens": 1})
    assert answer["usage"]["prompt_tokens"] == tokens


def test_text_and_tokens(server):
    for text in ("<|endoftext|>", "Once upon a time", "Zoë 你好\n\t", ""):
        tokens = post(server, "/tokenize", {"prompt": text, "add_special_tokens": False})["tokens"]
        assert post(server, "/detokenize", {"tokens": tokens})["prompt"] == text
