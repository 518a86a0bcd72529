"""Answers to the exercises of chapter 07."""

import math

import numpy as np
import torch
from torch.nn import functional as F

from llmlite.sampling import prefill, sample

from . import right, wrong

INF = math.inf

# filter_top_p


def _sorted(logits):
    return logits.softmax(0).sort(descending=True, stable=True)


@wrong("filter_top_p", "the token with which the sum reaches p belongs to those kept")
def boundary_dropped(logits, p):
    if p >= 1:
        return logits
    chances, order = _sorted(logits)
    return logits.index_fill(0, order[chances.cumsum(0) > p], -INF)


@wrong("filter_top_p", "one token too many")
def one_too_many(logits, p):
    if p >= 1:
        return logits
    chances, order = _sorted(logits)
    count = int((chances.cumsum(0) < p).sum()) + 2
    return logits.index_fill(0, order[count:], -INF)


@wrong("filter_top_p", "a sum of exactly p is enough")
def exactly_p_is_not_enough(logits, p):
    if p >= 1:
        return logits
    chances, order = _sorted(logits)
    return logits.index_fill(0, order[chances.cumsum(0) - chances > p], -INF)


@wrong("filter_top_p", "compare probabilities, after softmax")
def without_softmax(logits, p):
    if p >= 1:
        return logits
    values, order = logits.sort(descending=True, stable=True)
    return logits.index_fill(0, order[1:][(values.cumsum(0) - values)[1:] >= p], -INF)


@wrong("filter_top_p", "are the most likely taken first")
def ascending(logits, p):
    if p >= 1:
        return logits
    chances, order = logits.softmax(0).sort()
    return logits.index_fill(0, order[1:][(chances.cumsum(0) - chances)[1:] >= p], -INF)


@wrong("filter_top_p", "the least likely tokens are taken first")
def ascending_without_the_boundary(logits, p):
    chances, order = logits.softmax(0).sort()
    return logits.index_fill(0, order[chances.cumsum(0) > p], -INF)


@wrong("filter_top_p", "everything is dropped: it always stays")
def shifted_without_the_first(logits, p):
    if p >= 1:
        return logits
    chances, order = _sorted(logits)
    drop = chances.cumsum(0) >= p
    drop[1:] = drop[:-1].clone()
    return logits.index_fill(0, order[drop], -INF)


@wrong("filter_top_p", "each token's fate belongs at its own id")
def not_mapped_back(logits, p):
    if p >= 1:
        return logits
    chances, _ = _sorted(logits)
    drop = chances.cumsum(0) - chances >= p
    drop[0] = False
    return logits.masked_fill(drop, -INF)


@wrong("filter_top_p", "each token's fate belongs at its own id")
def sorted_logits_back(logits, p):
    if p >= 1:
        return logits
    values, order = logits.sort(descending=True, stable=True)
    chances = values.softmax(0)
    return values.masked_fill(chances.cumsum(0) - chances >= p, -INF)


@wrong("filter_top_p", "more equals are kept than needed")
def all_equals(logits, p):
    if p >= 1:
        return logits
    chances, _ = _sorted(logits)
    smallest = chances[int((chances.cumsum(0) < p).sum())]
    return logits.masked_fill(logits.softmax(0) < smallest, -INF)


@wrong("filter_top_p", "among equals the lowest ids")
def highest_ids(logits, p):
    if p >= 1:
        return logits
    chances, order = logits.flip(0).softmax(0).sort(descending=True, stable=True)
    drop = order[1:][(chances.cumsum(0) - chances)[1:] >= p]
    return logits.index_fill(0, len(logits) - 1 - drop, -INF)


@wrong("filter_top_p", "work on a copy")
def top_p_in_place(logits, p):
    chances, order = _sorted(logits)
    logits[order[1:][(chances.cumsum(0) - chances)[1:] >= p]] = -INF
    return logits


@wrong("filter_top_p", "a logit of 0 is still a chance")
def zeros(logits, p):
    chances, order = _sorted(logits)
    return logits.index_fill(0, order[1:][(chances.cumsum(0) - chances)[1:] >= p], 0.0)


@wrong("filter_top_p", "these are probabilities")
def renormalised(logits, p):
    chances, order = _sorted(logits)
    chances[1:][(chances.cumsum(0) - chances)[1:] >= p] = 0
    return torch.zeros_like(logits).index_copy(0, order, chances / chances.sum()).log().exp().masked_fill(logits == -INF, 0)


@wrong("filter_top_p", "also for the tokens dropped")
def only_those_kept(logits, p):
    chances, order = _sorted(logits)
    return logits[order[: int((chances.cumsum(0) < p).sum()) + 1]]


@wrong("filter_top_p", "a p of 1 keeps everything")
def no_shortcut_for_1(logits, p):
    chances, order = _sorted(logits)
    return logits.index_fill(0, order[1:][(chances.cumsum(0) - chances)[1:] >= p], -INF)


@wrong("filter_top_p", "does every path end with a return")
def top_p_forgets_return(logits, p):
    _sorted(logits)


@right("filter_top_p")
def top_p_by_loop(logits, p):
    if p >= 1:
        return logits.clone()
    chances, total = logits.double().softmax(0).tolist(), 0.0
    out = torch.full_like(logits, -INF)
    for i in sorted(range(len(chances)), key=lambda i: (-chances[i], i)):
        if total >= p or logits[i] == -INF:
            break
        out[i] = logits[i]
        total += chances[i]
    return out


@right("filter_top_p")
def as_transformers_does(logits, p):
    if p == 1:
        return logits
    chances, order = _sorted(logits)
    drop = chances.cumsum(0) >= p
    drop[1:] = drop[:-1].clone()
    drop[0] = False
    return logits.masked_fill(torch.zeros_like(drop).scatter(0, order, drop), -INF)


@right("filter_top_p")
def top_p_in_numpy(logits, p):
    if p >= 1:
        return logits
    chances = logits.double().softmax(0).numpy()
    order = np.argsort(-chances, kind="stable")
    count = int(np.searchsorted(np.cumsum(chances[order]), p, side="left")) + 1
    out = logits.clone()
    out[torch.from_numpy(order[count:].copy())] = -INF
    return out


# filter_min_p


@wrong("filter_min_p", "compare probabilities, after softmax")
def bar_of_logits(logits, p):
    return logits.masked_fill(logits < p * logits.max(), -INF) if p > 0 else logits


@wrong("filter_min_p", "p is not the bar itself")
def absolute(logits, p):
    return logits.masked_fill(logits.softmax(0) < p, -INF)


@wrong("filter_min_p", "a token exactly at the bar stays")
def strictly_more(logits, p):
    chances = logits.softmax(0)
    return logits.masked_fill(chances <= p * chances.max(), -INF) if p > 0 else logits


@wrong("filter_min_p", "found wherever it stands")
def first_is_largest(logits, p):
    chances = logits.softmax(0)
    return logits.masked_fill(chances < p * chances[0], -INF)


@wrong("filter_min_p", "these are the tokens to drop")
def min_p_inverted(logits, p):
    chances = logits.softmax(0)
    return logits.masked_fill(chances >= p * chances.max(), -INF)


@wrong("filter_min_p", "work on a copy")
def min_p_in_place(logits, p):
    chances = logits.softmax(0)
    logits[chances < p * chances.max()] = -INF
    return logits


@wrong("filter_min_p", "a logit of 0 is still a chance")
def min_p_zeros(logits, p):
    chances = logits.softmax(0)
    return logits.masked_fill(chances < p * chances.max(), 0.0)


@wrong("filter_min_p", "these are probabilities")
def min_p_renormalised(logits, p):
    chances = logits.softmax(0)
    chances = chances.masked_fill(chances < p * chances.max(), 0.0)
    return chances / chances.sum()


@wrong("filter_min_p", "a p of 0 keeps everything")
def zero_drops_the_impossible(logits, p):
    chances = logits.softmax(0)
    return logits.masked_fill((chances < p * chances.max()) | (chances == 0), -INF)


@wrong("filter_min_p", "both of the most likely tokens")
def only_the_argmax(logits, p):
    if p == 1:
        return torch.full_like(logits, -INF).index_copy(0, logits.argmax()[None], logits.max()[None])
    chances = logits.softmax(0)
    return logits.masked_fill(chances < p * chances.max(), -INF)


@wrong("filter_min_p", "the logits' dtype")
def min_p_in_float32(logits, p):
    chances = logits.softmax(0)
    return logits.float().masked_fill(chances < p * chances.max(), -INF)


@right("filter_min_p")
def by_logarithm(logits, p):
    return logits.clone() if p == 0 else torch.where(logits >= logits.max() + math.log(p), logits, -INF)


@right("filter_min_p")
def min_p_by_loop(logits, p):
    chances = logits.double().softmax(0).tolist()
    out, bar = logits.clone(), p * max(chances)
    for i, chance in enumerate(chances):
        if chance < bar:
            out[i] = -INF
    return out


# apply_repetition_penalty


def _penalised(logits, seen, change):
    out = logits.clone()
    for i in seen:
        out[i] = change(out[i])
    return out


@wrong("apply_repetition_penalty", "a negative logit that is divided rises")
def always_divides(logits, seen, penalty):
    return _penalised(logits, set(seen), lambda x: x / penalty)


@wrong("apply_repetition_penalty", "once for each distinct id")
def once_per_occurrence(logits, seen, penalty):
    return _penalised(logits, seen, lambda x: x / penalty if x > 0 else x * penalty)


@wrong("apply_repetition_penalty", "it is not subtracted")
def subtracts(logits, seen, penalty):
    return _penalised(logits, set(seen), lambda x: x - penalty)


@wrong("apply_repetition_penalty", "work on a copy")
def penalty_in_place(logits, seen, penalty):
    for i in set(seen):
        logits[i] = logits[i] / penalty if logits[i] > 0 else logits[i] * penalty
    return logits


@wrong("apply_repetition_penalty", "ids that were not seen")
def everyone(logits, seen, penalty):
    return torch.where(logits > 0, logits / penalty, logits * penalty)


@wrong("apply_repetition_penalty", "seen tokens become likelier")
def the_other_way_round(logits, seen, penalty):
    return _penalised(logits, set(seen), lambda x: x * penalty if x > 0 else x / penalty)


@wrong("apply_repetition_penalty", "a positive logit that is multiplied rises")
def always_multiplies(logits, seen, penalty):
    return _penalised(logits, set(seen), lambda x: x * penalty)


@wrong("apply_repetition_penalty", "a logit of 0 stays 0")
def zero_is_odd(logits, seen, penalty):
    return _penalised(logits, set(seen), lambda x: x / penalty if x > 0 else x * penalty if x < 0 else x - penalty)


@wrong("apply_repetition_penalty", "seen may be empty")
def never_empty(logits, seen, penalty):
    ids = torch.tensor(list(seen))
    out = logits.clone()
    out[ids] = torch.where(out[ids] > 0, out[ids] / penalty, out[ids] * penalty)
    return out


@wrong("apply_repetition_penalty", "right only for a penalty above 1")
def never_favours(logits, seen, penalty):
    return _penalised(logits, set(seen), lambda x: min(x / penalty, x * penalty))


@right("apply_repetition_penalty")
def penalty_by_loop(logits, seen, penalty):
    return _penalised(logits, set(seen), lambda x: x / penalty if x > 0 else x * penalty)


@right("apply_repetition_penalty")
def by_mask(logits, seen, penalty):
    mask = torch.zeros(len(logits), dtype=torch.bool)
    for i in seen:
        mask[i] = True
    return torch.where(mask, torch.where(logits < 0, logits * penalty, logits / penalty), logits)


@right("apply_repetition_penalty")
def gathered_with_repeats(logits, seen, penalty):
    ids = torch.tensor(list(seen), dtype=torch.long)
    scores = logits[ids]
    return logits.scatter(0, ids, torch.where(scores > 0, scores / penalty, scores * penalty))


# continue_ids


def _generator(model, params):
    generator = torch.Generator(model.device)
    generator.seed() if params.seed is None else generator.manual_seed(params.seed)
    return generator


@wrong("continue_ids", "without a cache each pass needs the whole text")
def last_id_only(model, ids, params, count, cache=None, vocab_size=None):
    generator, ids = _generator(model, params), list(ids)
    fresh = ids
    for _ in range(count):
        ids.append(sample(prefill(model, fresh, cache)[:vocab_size], params, generator, ids))
        yield ids[-1]
        fresh = ids[-1:]


@wrong("continue_ids", "ids that the cache already holds")
def everything_with_a_cache(model, ids, params, count, cache=None, vocab_size=None):
    generator, ids = _generator(model, params), list(ids)
    for _ in range(count):
        ids.append(sample(prefill(model, ids, cache)[:vocab_size], params, generator, ids))
        yield ids[-1]


@wrong("continue_ids", "the prompt is yielded too")
def with_the_prompt(model, ids, params, count, cache=None, vocab_size=None):
    yield from ids
    yield from right_loop(model, ids, params, count, cache, vocab_size)


@wrong("continue_ids", "as many ids are expected")
def one_id_too_many(model, ids, params, count, cache=None, vocab_size=None):
    yield from right_loop(model, ids, params, count + 1, cache, vocab_size)


@wrong("continue_ids", "as many ids are expected")
def one_id_too_few(model, ids, params, count, cache=None, vocab_size=None):
    yield from right_loop(model, ids, params, count - 1, cache, vocab_size)


@wrong("continue_ids", "the last id need not pass through the model")
def one_pass_too_many(model, ids, params, count, cache=None, vocab_size=None):
    generator, ids = _generator(model, params), list(ids)
    logits = prefill(model, ids, cache)
    for _ in range(count):
        ids.append(sample(logits[:vocab_size], params, generator, ids))
        yield ids[-1]
        logits = prefill(model, ids if cache is None else ids[-1:], cache)


@wrong("continue_ids", "add to a list of your own")
def callers_list(model, ids, params, count, cache=None, vocab_size=None):
    generator, fresh = _generator(model, params), ids
    for _ in range(count):
        ids.append(sample(prefill(model, fresh, cache)[:vocab_size], params, generator, ids))
        yield ids[-1]
        fresh = ids if cache is None else ids[-1:]


@wrong("continue_ids", "torch's global generator")
def no_generator(model, ids, params, count, cache=None, vocab_size=None):
    ids = fresh = list(ids)
    for _ in range(count):
        ids.append(sample(prefill(model, fresh, cache)[:vocab_size], params, None, ids))
        yield ids[-1]
        fresh = ids if cache is None else ids[-1:]


@wrong("continue_ids", "every draw is the same")
def reseeds(model, ids, params, count, cache=None, vocab_size=None):
    ids = fresh = list(ids)
    for _ in range(count):
        ids.append(sample(prefill(model, fresh, cache)[:vocab_size], params, _generator(model, params), ids))
        yield ids[-1]
        fresh = ids if cache is None else ids[-1:]


@wrong("continue_ids", "another seed gives the same ids")
def ignores_the_seed(model, ids, params, count, cache=None, vocab_size=None):
    generator = torch.Generator(model.device)
    ids = fresh = list(ids)
    for _ in range(count):
        ids.append(sample(prefill(model, fresh, cache)[:vocab_size], params, generator, ids))
        yield ids[-1]
        fresh = ids if cache is None else ids[-1:]


@wrong("continue_ids", "the same seed must give the same ids")
def always_fresh(model, ids, params, count, cache=None, vocab_size=None):
    generator = torch.Generator(model.device)
    generator.seed()
    ids = fresh = list(ids)
    for _ in range(count):
        ids.append(sample(prefill(model, fresh, cache)[:vocab_size], params, generator, ids))
        yield ids[-1]
        fresh = ids if cache is None else ids[-1:]


@wrong("continue_ids", "a seed of None must draw anew")
def none_is_not_fresh(model, ids, params, count, cache=None, vocab_size=None):
    generator = torch.Generator(model.device)
    if params.seed is not None:
        generator.manual_seed(params.seed)
    ids = fresh = list(ids)
    for _ in range(count):
        ids.append(sample(prefill(model, fresh, cache)[:vocab_size], params, generator, ids))
        yield ids[-1]
        fresh = ids if cache is None else ids[-1:]


@wrong("continue_ids", "0 is a seed like any other")
def zero_is_none(model, ids, params, count, cache=None, vocab_size=None):
    generator = torch.Generator(model.device)
    generator.manual_seed(params.seed) if params.seed else generator.seed()
    ids = fresh = list(ids)
    for _ in range(count):
        ids.append(sample(prefill(model, fresh, cache)[:vocab_size], params, generator, ids))
        yield ids[-1]
        fresh = ids if cache is None else ids[-1:]


@wrong("continue_ids", "the penalty must see the prompt")
def forgets_seen(model, ids, params, count, cache=None, vocab_size=None):
    generator = _generator(model, params)
    ids = fresh = list(ids)
    for _ in range(count):
        ids.append(sample(prefill(model, fresh, cache)[:vocab_size], params, generator))
        yield ids[-1]
        fresh = ids if cache is None else ids[-1:]


@wrong("continue_ids", "the penalty must see the new ids")
def sees_the_prompt_only(model, ids, params, count, cache=None, vocab_size=None):
    generator, prompt = _generator(model, params), tuple(ids)
    ids = fresh = list(ids)
    for _ in range(count):
        ids.append(sample(prefill(model, fresh, cache)[:vocab_size], params, generator, prompt))
        yield ids[-1]
        fresh = ids if cache is None else ids[-1:]


@wrong("continue_ids", "the penalty must see the prompt")
def sees_the_new_only(model, ids, params, count, cache=None, vocab_size=None):
    generator, new = _generator(model, params), []
    for _ in range(count):
        fresh = [*ids, *new] if cache is None or not new else new[-1:]
        new.append(sample(prefill(model, fresh, cache)[:vocab_size], params, generator, new))
        yield new[-1]


@wrong("continue_ids", "let sample choose")
def greedy_always(model, ids, params, count, cache=None, vocab_size=None):
    ids = fresh = list(ids)
    for _ in range(count):
        ids.append(int(prefill(model, fresh, cache)[:vocab_size].argmax()))
        yield ids[-1]
        fresh = ids if cache is None else ids[-1:]


@wrong("continue_ids", "only the first vocab_size logits")
def whole_table(model, ids, params, count, cache=None, vocab_size=None):
    yield from right_loop(model, ids, params, count, cache, None)


@wrong("continue_ids", "yield each id as soon as it is chosen")
def all_at_once(model, ids, params, count, cache=None, vocab_size=None):
    return list(right_loop(model, ids, params, count, cache, vocab_size))


@wrong("continue_ids", "the prompt may be a tuple")
def lists_only(model, ids, params, count, cache=None, vocab_size=None):
    generator, new = _generator(model, params), []
    for _ in range(count):
        fresh = ids + new if cache is None or not new else new[-1:]
        new.append(sample(prefill(model, fresh, cache)[:vocab_size], params, generator, ids + new))
        yield new[-1]


def right_loop(model, ids, params, count, cache=None, vocab_size=None):
    generator = _generator(model, params)
    ids = fresh = list(ids)
    for _ in range(count):
        ids.append(sample(prefill(model, fresh, cache)[:vocab_size], params, generator, ids))
        yield ids[-1]
        fresh = ids if cache is None else ids[-1:]


@right("continue_ids")
def new_ids_apart(model, ids, params, count, cache=None, vocab_size=None):
    generator, new = _generator(model, params), []
    for n in range(count):
        fresh = [*ids, *new] if cache is None or n == 0 else [new[-1]]
        logits = prefill(model, fresh, cache)
        new.append(sample(logits if vocab_size is None else logits[:vocab_size], params, generator, [*ids, *new]))
        yield new[-1]


@right("continue_ids")
def asks_the_model_itself(model, ids, params, count, cache=None, vocab_size=None):
    generator, everything = _generator(model, params), tuple(ids)
    held = 0
    while count > 0:
        logits = model(torch.tensor([everything[held:]], device=model.device), cache)[0, -1]
        held = 0 if cache is None else len(everything)
        token = sample(logits[:vocab_size], params, generator, set(everything))
        everything += (token,)
        count -= 1
        yield token


@right("continue_ids")
def what_the_cache_lacks(model, ids, params, count, cache=None, vocab_size=None):
    generator, ids = _generator(model, params), list(ids)
    end = len(ids) + count
    while len(ids) < end:
        logits = prefill(model, ids[cache.length :] if cache is not None else ids, cache)
        ids += [sample(logits[slice(vocab_size)], params, generator, ids)]
        yield ids[-1]


# perplexity


def _mean(model, ids, window, loss):
    window = min(window, model.config.max_position_embeddings)
    if len(ids) < 2 or window < 2:
        raise ValueError
    losses = []
    for start in range(0, len(ids), window):
        part = torch.tensor([ids[start : start + window]])
        losses += loss(model(part)[0], part[0])
    return sum(losses) / len(losses)


def _loss(logits, ids):
    return F.cross_entropy(logits[:-1], ids[1:], reduction="none").tolist()


@wrong("perplexity", "perplexity is exp of that")
def forgets_exp(model, ids, window=512):
    return _mean(model, ids, window, _loss)


@wrong("perplexity", "the sign is lost")
def negative(model, ids, window=512):
    return math.exp(-_mean(model, ids, window, _loss))


@wrong("perplexity", "a logarithm to base 2 is raised to the power of e")
def two_bases(model, ids, window=512):
    return math.exp(_mean(model, ids, window, _loss) / math.log(2))


@wrong("perplexity", "a natural logarithm is raised to the power of 2")
def two_bases_again(model, ids, window=512):
    return 2 ** _mean(model, ids, window, _loss)


@wrong("perplexity", "the mean of 1 / p")
def mean_of_perplexities(model, ids, window=512):
    return _mean(model, ids, window, lambda logits, ids: [math.exp(x) for x in _loss(logits, ids)])


@wrong("perplexity", "predict the token at place t + 1, not the one at t")
def same_token(model, ids, window=512):
    return math.exp(_mean(model, ids, window, lambda logits, ids: F.cross_entropy(logits, ids, reduction="none").tolist()))


@wrong("perplexity", "the targets are shifted the wrong way")
def backwards(model, ids, window=512):
    return math.exp(_mean(model, ids, window, lambda x, ids: F.cross_entropy(x[1:], ids[:-1], reduction="none").tolist()))


@wrong("perplexity", "a window's first token does not count")
def counts_the_first(model, ids, window=512):
    return math.exp(_mean(model, ids, window, lambda logits, ids: [0.0, *_loss(logits, ids)]))


def _window_losses(model, ids, window):
    window = min(window, model.config.max_position_embeddings)
    if len(ids) < 2 or window < 2:
        raise ValueError
    parts = [torch.tensor([ids[start : start + window]]) for start in range(0, len(ids), window)]
    return [_loss(model(part)[0], part[0]) for part in parts if part.shape[1] > 1]


@wrong("perplexity", "take the mean over tokens, not windows")
def averages_windows(model, ids, window=512):
    losses = _window_losses(model, ids, window)
    return math.exp(sum(sum(part) / len(part) for part in losses) / len(losses))


@wrong("perplexity", "this is the mean of the windows' perplexities")
def averages_windows_perplexities(model, ids, window=512):
    losses = _window_losses(model, ids, window)
    return sum(math.exp(sum(part) / len(part)) for part in losses) / len(losses)


@wrong("perplexity", "does not count")
def divides_by_all_but_one(model, ids, window=512):
    return math.exp(sum(map(sum, _window_losses(model, ids, window))) / (len(ids) - 1))


@wrong("perplexity", "are allowed")
def no_windows(model, ids, window=512):
    return math.exp(_mean(model, ids, len(ids), _loss) if window > 1 else 1 / 0)


@wrong("perplexity", "are allowed")
def forgets_the_context(model, ids, window=512):
    if len(ids) < 2 or window < 2:
        raise ValueError
    parts = [torch.tensor([ids[start : start + window]]) for start in range(0, len(ids), window)]
    losses = [x for part in parts for x in _loss(model(part)[0], part[0])]
    return math.exp(sum(losses) / len(losses))


@wrong("perplexity", "the windows overlap")
def reaches_into_the_next_window(model, ids, window=512):
    window = min(window, model.config.max_position_embeddings)
    if len(ids) < 2 or window < 2:
        raise ValueError
    losses = []
    for start in range(0, len(ids) - 1, window - 1):
        part = torch.tensor([ids[start : start + window]])
        losses += _loss(model(part)[0], part[0])
    return math.exp(sum(losses) / len(losses))


@wrong("perplexity", "fewer than 2 ids")
def one_id_is_enough(model, ids, window=512):
    if window < 2 or model.config.max_position_embeddings < 2:
        raise ValueError
    losses = [x for part in _window_losses(model, [*ids, 0, 0][: max(2, len(ids))], window) for x in part]
    return math.exp(sum(losses) / len(losses))


@wrong("perplexity", "a window below 2")
def any_window(model, ids, window=512):
    return math.exp(_mean(model, ids, max(2, window), _loss))


@wrong("perplexity", "it should be a float")
def a_tensor(model, ids, window=512):
    return torch.tensor(_mean(model, ids, window, _loss)).exp()


@wrong("perplexity", "use log_softmax or cross_entropy")
def logarithm_of_a_rounded_probability(model, ids, window=512):
    window = min(window, model.config.max_position_embeddings)
    if len(ids) < 2 or window < 2:
        raise ValueError("too little text")
    chances = []
    for start in range(0, len(ids), window):
        part = torch.tensor([ids[start : start + window]])
        logits = model(part)[0, :-1].float()
        chances += [row.softmax(0)[i] for row, i in zip(logits, part[0, 1:])]
    return float(torch.stack(chances).log().mean().neg().exp())


@right("perplexity")
def by_losses(model, ids, window=512):
    losses = [x for part in _window_losses(model, ids, window) for x in part]
    return math.exp(math.fsum(losses) / len(losses))


@right("perplexity")
def base_two_throughout(model, ids, window=512):
    return 2 ** (_mean(model, ids, window, _loss) / math.log(2))


@right("perplexity")
def log_softmax_in_float64(model, ids, window=512):
    window = min(model.config.max_position_embeddings, window)
    if window < 2 or len(ids) <= 1:
        raise ValueError("too little")
    logs = []
    for start in range(0, len(ids), window):
        part = list(ids)[start : start + window]
        rows = model(torch.tensor(part)[None], None, last_only=False)[0].double().log_softmax(-1)
        logs += [float(rows[t, token]) for t, token in enumerate(part[1:])]
    return float(np.exp(-np.mean(logs)))
