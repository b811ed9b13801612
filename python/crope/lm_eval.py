"""lm_eval's tasks on the program's own engine, without exported weights.

    python -m crope.lm_eval --model crope --model_args path=DIR --tasks hellaswag ...

takes lm_eval's arguments and adds the model `crope`. lm_eval finds models of other packages only when something imports
them: in a script, `import crope.lm_eval` before simple_evaluate(model="crope", ...) does the same.

Requests go to `crope serve`, started here on a free port. Windows, truncation and scores follow lm_eval's model `hf`.
"""

import atexit
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lm_eval.api.model import TemplateLM
from lm_eval.api.registry import register_model
from lm_eval.models.utils import handle_stop_sequences, normalize_gen_kwargs, postprocess_generated_text
from lm_eval.utils import get_rolling_token_windows, make_disjoint_window
from tqdm import tqdm

from .hf import load_tokenizer
from .model import read_config
from .server import Server

MAX_GENERATED_TOKENS = 256
PROMPTS_PER_REQUEST = 16  # where lm_eval's default, 1, or "auto" is given
MOST_STOPS = 4  # of the API; texts are cut at the others here

Tokens = list[int]


@register_model("crope")
class CRopeLM(TemplateLM):  # type: ignore[misc]
    """path: a model or run directory; program: the binary (CROPE_BINARY, or crope on the PATH); weights: as for
    `crope serve`; concurrency: requests under way at once, of batch_size prompts each."""

    def __init__(
        self,
        path: str,
        program: str | None = None,
        weights: str = "fp32",
        max_length: int | None = None,
        batch_size: int | str | None = None,
        concurrency: int = 4,
        threads: int = 0,
        **_: Any,  # lm_eval also passes device and max_batch_size
    ) -> None:
        super().__init__()
        self.path = path
        self.tokenizer = load_tokenizer(path)
        self.max_length = int(max_length or read_config(path).max_seq_len)
        given = str(batch_size)
        self.batch_size = int(given) if given.isdigit() and int(given) > 1 else PROMPTS_PER_REQUEST
        self.concurrency = int(concurrency)
        self.server = Server(path, "--weights", weights, "--threads", str(threads), program=program)
        atexit.register(self.server.close)

    @property
    def eot_token_id(self) -> int:
        end = self.tokenizer.eos_token_id
        if not isinstance(end, int):
            raise ValueError(f"{self.path}: the tokenizer has no <|endoftext|>, which lm_eval needs")
        return end

    @property
    def tokenizer_name(self) -> str:
        return self.path

    def tok_encode(self, string: str, add_special_tokens: bool | None = None, **_: Any) -> Tokens:
        ids: Tokens = self.tokenizer.encode(string, add_special_tokens=bool(add_special_tokens))
        return ids

    def _post(self, bodies: list[dict[str, Any]], sizes: list[int], description: str, quiet: bool) -> Iterator[Any]:
        """Answers to /v1/completions in the order of the requests. sizes: prompts of each."""
        with (
            ThreadPoolExecutor(self.concurrency) as pool,
            tqdm(total=sum(sizes), desc=description, disable=quiet) as bar,
        ):
            for answer, size in zip(pool.map(lambda body: self.server.post("/v1/completions", body), bodies), sizes):
                bar.update(size)
                yield answer

    def _loglikelihood_tokens(
        self, requests: list[tuple[Any, Tokens, Tokens]], disable_tqdm: bool = False, **_: Any
    ) -> list[tuple[float, bool]]:
        prompts, lengths = [], []
        for _key, context, continuation in requests:
            prompts.append((context + continuation)[-(self.max_length + 1) :])
            lengths.append(min(len(continuation), len(prompts[-1]) - 1))
        # Neighbours share their context, which the server computes once.
        batches = [prompts[i : i + self.batch_size] for i in range(0, len(prompts), self.batch_size)]
        bodies = [
            {"prompt": batch, "max_tokens": 0, "echo": True, "logprobs": 1, "temperature": 0} for batch in batches
        ]
        results: list[tuple[float, bool]] = []
        for answer in self._post(bodies, [len(batch) for batch in batches], "crope: log-likelihoods", disable_tqdm):
            for choice in sorted(answer["choices"], key=lambda choice: int(choice["index"])):
                length = lengths[len(results)]
                tokens = choice["logprobs"]["token_logprobs"][-length:]
                best = [max(top.values()) for top in choice["logprobs"]["top_logprobs"][-length:]]
                results.append((sum(tokens), tokens == best))
        for (key, _context, _continuation), result in zip(requests, results):
            if key is not None:
                self.cache_hook.add_partial("loglikelihood", key, result)
        return results

    def loglikelihood_rolling(self, requests: list[Any], disable_tqdm: bool = False) -> list[float]:
        windows: list[tuple[Any, Tokens, Tokens]] = []
        counts: list[int] = []
        for (text,) in (request.args for request in requests):
            rolling = get_rolling_token_windows(
                token_list=self.tok_encode(text),
                prefix_token=self.prefix_token_id,
                max_seq_len=self.max_length,
                context_len=1,
            )
            windows += [(None, *make_disjoint_window(window)) for window in rolling]
            counts.append(len(windows) - sum(counts))
        scores = iter(self._loglikelihood_tokens(windows, disable_tqdm))
        return [sum(next(scores)[0] for _ in range(count)) for count in counts]

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        bodies, stops = [], []
        end = self.tokenizer.decode([self.eot_token_id])
        for context, arguments in (request.args for request in requests):
            settings = normalize_gen_kwargs(arguments, MAX_GENERATED_TOKENS)
            stop = handle_stop_sequences(settings.get("until"), eos=end)
            new = int(settings["max_gen_toks"])
            bodies.append(
                {
                    "prompt": self.tok_encode(context)[-(self.max_length - new) :],
                    "max_tokens": new,
                    "temperature": float(settings.get("temperature", 1.0)) if settings.get("do_sample") else 0,
                    "stop": stop[:MOST_STOPS],
                }
            )
            stops.append(stop)
        texts = []
        answers = self._post(bodies, [1] * len(bodies), "crope: generated texts", disable_tqdm)
        for answer, stop, request in zip(answers, stops, requests):
            text = postprocess_generated_text(answer["choices"][0]["text"], stop, None)
            self.cache_hook.add_partial("generate_until", request.args, text)
            texts.append(text)
        return texts


def main(arguments: Iterable[str] | None = None) -> None:
    from lm_eval.__main__ import cli_evaluate

    if arguments is not None:
        sys.argv[1:] = list(arguments)
    cli_evaluate()


if __name__ == "__main__":
    main()
