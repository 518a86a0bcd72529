"""Answers to the exercises of chapter 09."""

import math

import numpy as np
import torch

from llmlite.kv_cache import Slots
from llmlite.rope import apply_rope, rope_tables
from llmlite.sampling import prefill

from . import right, wrong

# cache_bytes


def _numbers(c, tokens, batch=1):
    return 2 * c.num_hidden_layers * batch * c.num_key_value_heads * tokens * c.head_dim


@wrong("cache_bytes", "every query head is counted")
def query_heads(config, tokens, batch=1, dtype=torch.float32):
    return _numbers(config, tokens, batch) * dtype.itemsize * config.num_attention_heads // config.num_key_value_heads


@wrong("cache_bytes", "only the keys are counted")
def keys_only(config, tokens, batch=1, dtype=torch.float32):
    return _numbers(config, tokens, batch) * dtype.itemsize // 2


@wrong("cache_bytes", "only one layer is counted")
def one_layer(config, tokens, batch=1, dtype=torch.float32):
    return _numbers(config, tokens, batch) * dtype.itemsize // config.num_hidden_layers


@wrong("cache_bytes", "these are bits")
def bits(config, tokens, batch=1, dtype=torch.float32):
    return _numbers(config, tokens, batch) * 8 * dtype.itemsize


@wrong("cache_bytes", "these are numbers, not bytes")
def numbers_only(config, tokens, batch=1, dtype=torch.float32):
    return _numbers(config, tokens, batch)


@wrong("cache_bytes", "the batch is missing")
def no_batch(config, tokens, batch=1, dtype=torch.float32):
    return _numbers(config, tokens) * dtype.itemsize


@wrong("cache_bytes", "every number is counted with 4 bytes")
def always_four(config, tokens, batch=1, dtype=torch.float32):
    return _numbers(config, tokens, batch) * 4


@wrong("cache_bytes", "hidden_size is counted")
def hidden_size(config, tokens, batch=1, dtype=torch.float32):
    return 2 * config.num_hidden_layers * batch * tokens * config.hidden_size * dtype.itemsize


@wrong("cache_bytes", "only `tokens` tokens are asked for")
def whole_context(config, tokens, batch=1, dtype=torch.float32):
    return _numbers(config, config.max_position_embeddings, batch) * dtype.itemsize


@wrong("cache_bytes", "a number of bytes is an int")
def bytes_as_float(config, tokens, batch=1, dtype=torch.float32):
    return _numbers(config, tokens, batch) * dtype.itemsize * 8 / 8


@wrong("cache_bytes", "does every path end with a return")
def bytes_forget_return(config, tokens, batch=1, dtype=torch.float32):
    _numbers(config, tokens, batch)


@right("cache_bytes")
def counted_by_torch(config, tokens, batch=1, dtype=torch.float32):
    shape = (config.num_hidden_layers, batch, config.num_key_value_heads, tokens, config.head_dim)
    return 2 * torch.empty(shape, dtype=dtype, device="meta").nbytes


@right("cache_bytes")
def added_up(config, tokens, batch=1, dtype=torch.float32):
    total = 0
    for _ in range(config.num_hidden_layers):
        for _ in ("key", "value"):
            total += batch * config.num_key_value_heads * config.head_dim * dtype.itemsize
    return total * tokens


# KVCache


class Right(Slots):
    """What the wrong ones change a method of."""

    def append(self, layer, k, v):
        start, end = self.length, self.length + k.size(2)
        if end > self.capacity or k.size(0) != self.keys.size(1):
            raise ValueError("no room")
        self.keys[layer].narrow(2, start, k.size(2)).copy_(k)
        self.values[layer].narrow(2, start, k.size(2)).copy_(v)
        return self.view(layer, end)

    def view(self, layer, length):
        return self.keys[layer].narrow(2, 0, length), self.values[layer].narrow(2, 0, length)

    def advance(self, tokens):
        self.length = self.length + tokens

    def rewind(self, length):
        if length < 0 or length > self.length:
            raise ValueError("not held")
        self.length = length


right("KVCache")(type("WithNarrow", (Right,), {"__module__": __name__, **vars(Right)}))


@wrong("KVCache", "overwrite the first ones")
class AtPositionZero(Right):
    def append(self, layer, k, v):
        super().append(layer, k, v)
        self.keys[layer, :, :, : k.shape[2]] = k
        self.values[layer, :, :, : k.shape[2]] = v
        return self.view(layer, self.length + k.shape[2])


@wrong("KVCache", "append has changed length")
class AdvancesInAppend(Right):
    def append(self, layer, k, v):
        self.length += k.shape[2]
        return self.view(layer, self.length)


@wrong("KVCache", "append has changed length")
class AdvancesInTheLastLayer(Right):
    def append(self, layer, k, v):
        out = super().append(layer, k, v)
        if layer == len(self.keys) - 1:
            self.length += k.shape[2]
        return out

    def advance(self, tokens):
        pass


@wrong("KVCache", "covers the whole capacity")
class WholeCapacity(Right):
    def append(self, layer, k, v):
        super().append(layer, k, v)
        return self.keys[layer], self.values[layer]


@wrong("KVCache", "only the new tokens come back")
class NewTokensOnly(Right):
    def append(self, layer, k, v):
        super().append(layer, k, v)
        return k, v


@wrong("KVCache", "the new tokens are missing from what comes back")
class ViewBeforeTheNew(Right):
    def append(self, layer, k, v):
        super().append(layer, k, v)
        return self.view(layer, self.length)


@wrong("KVCache", "append returns a copy of the keys")
class Copies(Right):
    def append(self, layer, k, v):
        keys, values = super().append(layer, k, v)
        return keys.clone(), values.clone()


@wrong("KVCache", "torch.cat copies everything at every step")
class Concatenates(Right):
    def append(self, layer, k, v):
        if self.length + k.shape[2] > self.capacity or len(k) != self.keys.shape[1]:
            raise ValueError("no room")
        if self.length == 0:
            self.parts = getattr(self, "parts", {})
            self.parts[layer] = k, v
        else:
            old = [t[:, :, : self.length] for t in self.parts[layer]]
            self.parts[layer] = torch.cat((old[0], k), 2), torch.cat((old[1], v), 2)
        return self.parts[layer]


@wrong("KVCache", "torch.cat copies everything at every step")
class GrowsItsStore(Right):
    def append(self, layer, k, v):
        keys = torch.cat((self.keys[:, :, :, : self.length], k.new_zeros(len(self.keys), *k.shape)), 3)
        values = torch.cat((self.values[:, :, :, : self.length], k.new_zeros(len(self.keys), *k.shape)), 3)
        keys[layer, :, :, self.length :], values[layer, :, :, self.length :] = k, v
        if layer:
            keys[0, :, :, self.length :] = self.keys[0, :, :, self.length : self.length + k.shape[2]]
            values[0, :, :, self.length :] = self.values[0, :, :, self.length : self.length + k.shape[2]]
        self.keys, self.values = keys, values
        return keys[layer], values[layer]


@wrong("KVCache", "layer 1 has overwritten the keys of layer 0")
class OnePlaceForAllLayers(Right):
    def append(self, layer, k, v):
        return super().append(0, k, v)


@wrong("KVCache", "keys and values are swapped")
class Swapped(Right):
    def append(self, layer, k, v):
        return super().append(layer, v, k)


@wrong("KVCache", "advance adds to length")
class AdvanceSets(Right):
    def advance(self, tokens):
        self.length = tokens


@wrong("KVCache", "after the first pass")
class AdvanceByOne(Right):
    def advance(self, tokens):
        self.length += 1


@wrong("KVCache", "the shape is")
class ViewIgnoresLength(Right):
    def append(self, layer, k, v):
        super().append(layer, k, v)
        end = self.length + k.shape[2]
        return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]

    def view(self, layer, length):
        return self.keys[layer, :, :, : self.length], self.values[layer, :, :, : self.length]


@wrong("KVCache", "a negative length")
class NegativeRewind(Right):
    def rewind(self, length):
        if length > self.length:
            raise ValueError("not held")
        self.length = length


@wrong("KVCache", "a length past what is held")
class RewindForward(Right):
    def rewind(self, length):
        if not 0 <= length <= self.capacity:
            raise ValueError("not held")
        self.length = length


@wrong("KVCache", "not of those dropped")
class RewindBy(Right):
    def rewind(self, length):
        if not 0 <= length <= self.length:
            raise ValueError("not held")
        self.length -= length


@wrong("KVCache", "rewinding to the length that is held is allowed")
class StrictRewind(Right):
    def rewind(self, length):
        if not 0 <= length < self.length:
            raise ValueError("not held")
        self.length = length


@wrong("KVCache", "must be refused with ValueError; here it stops with RuntimeError")
class LetsTorchComplain(Right):
    def append(self, layer, k, v):
        end = self.length + k.shape[2]
        self.keys[layer, :, :, self.length : end] = k
        self.values[layer, :, :, self.length : end] = v
        return self.view(layer, end)


@wrong("KVCache", "tokens past the capacity must be refused")
class CutsOff(Right):
    def append(self, layer, k, v):
        room = self.capacity - self.length
        return super().append(layer, k[:, :, :room], v[:, :, :room])


@wrong("KVCache", "there is room for them")
class OnePlaceTooFew(Right):
    def append(self, layer, k, v):
        if self.length + k.shape[2] >= self.capacity:
            raise ValueError("no room")
        return super().append(layer, k, v)


@wrong("KVCache", "another batch size must be refused")
class SpreadsABatchOfOne(Right):
    def append(self, layer, k, v):
        end = self.length + k.shape[2]
        if end > self.capacity:
            raise ValueError("no room")
        self.keys[layer, :, :, self.length : end] = k
        self.values[layer, :, :, self.length : end] = v
        return self.view(layer, end)


@wrong("KVCache", "writes nothing")
class RefusesTooLate(Right):
    def append(self, layer, k, v):
        room = self.capacity - self.length
        if room < k.shape[2]:
            self.keys[layer, :, :, :1] = 0
            raise ValueError("no room")
        return super().append(layer, k, v)


@wrong("KVCache", "does every path end with a return")
class AppendForgetsReturn(Right):
    def append(self, layer, k, v):
        super().append(layer, k, v)


@right("KVCache")
class BySlices(Slots):
    """From scratch, but for the room."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.keys.zero_()

    def append(self, layer, k, v):
        if k.shape[0] != self.keys.shape[1]:
            raise ValueError(f"batch {k.shape[0]}")
        if k.shape[2] > self.capacity - self.length:
            raise ValueError("full")
        for n in range(k.shape[2]):
            self.keys[layer, ..., self.length + n, :] = k[..., n, :]
            self.values[layer, ..., self.length + n, :] = v[..., n, :]
        return self.view(layer, self.length + k.shape[2])

    def view(self, layer, length):
        return tuple(store[layer][..., :length, :] for store in (self.keys, self.values))

    def advance(self, tokens):
        self.length += tokens

    def rewind(self, length):
        if length not in range(self.length + 1):
            raise ValueError(length)
        self.length = length


# decode


def _refuse(ids, count, cache):
    if not ids or len(ids) + count - 1 > cache.capacity:
        raise ValueError("no room")


@wrong("decode", "the whole prompt is fed again")
def prompt_again(model, ids, count, cache):
    _refuse(ids, count, cache)
    cache.rewind(0)
    fresh, new = list(ids), []
    for _ in range(count):
        new.append(int(prefill(model, fresh, cache).argmax()))
        fresh = new[-1:]
    return new


@wrong("decode", "the cache holds all but the newest")
def everything_each_step(model, ids, count, cache):
    _refuse(ids, count, cache)
    cache.rewind(min(cache.length, len(ids) - 1))
    text = list(ids)
    fresh = text[cache.length :]
    for _ in range(count):
        text.append(int(prefill(model, fresh, cache).argmax()))
        fresh = text
    return text[len(ids) :]


@wrong("decode", "a pass goes without the cache")
def no_cache(model, ids, count, cache):
    _refuse(ids, count, cache)
    text = list(ids)
    for _ in range(count):
        text.append(int(prefill(model, text).argmax()))
    return text[len(ids) :]


@wrong("decode", "its tokens stand at position 0")
def newest_without_cache(model, ids, count, cache):
    _refuse(ids, count, cache)
    cache.rewind(min(cache.length, len(ids) - 1))
    new = [int(prefill(model, list(ids)[cache.length :], cache).argmax())]
    while len(new) < count:
        new.append(int(prefill(model, new[-1:]).argmax()))
    return new


@wrong("decode", "the prompt's last id passes twice")
def last_id_twice(model, ids, count, cache):
    _refuse(ids, count, cache)
    cache.rewind(min(cache.length, len(ids) - 1))
    prefill(model, list(ids)[cache.length :], cache)
    fresh, new = list(ids[-1:]), []
    for _ in range(count):
        new.append(int(prefill(model, fresh, cache).argmax()))
        fresh = new[-1:]
    return new


@wrong("decode", "forget the last one (rewind)")
def never_rewinds(model, ids, count, cache):
    _refuse(ids, count, cache)
    fresh, new = list(ids[cache.length :]), []
    for _ in range(count):
        new.append(int(prefill(model, fresh, cache).argmax()))
        fresh = new[-1:]
    return new


@wrong("decode", "the last id need not pass")
def one_pass_too_many(model, ids, count, cache):
    _refuse(ids, count, cache)
    cache.rewind(min(cache.length, len(ids) - 1))
    fresh, new = list(ids[cache.length :]), []
    for _ in range(count):
        new.append(int(prefill(model, fresh, cache).argmax()))
        fresh = new[-1:]
    prefill(model, fresh, cache)
    return new


@wrong("decode", "the prompt comes back too")
def prompt_too(model, ids, count, cache):
    return list(ids) + decode_by_model(model, ids, count, cache)


@wrong("decode", "has changed")
def into_the_callers_list(model, ids, count, cache):
    new = decode_by_model(model, ids, count, cache)
    if isinstance(ids, list):
        ids += new
    return new


@wrong("decode", "pass together, at once")
def prompt_one_by_one(model, ids, count, cache):
    _refuse(ids, count, cache)
    cache.rewind(min(cache.length, len(ids) - 1))
    for i in ids[cache.length : -1]:
        prefill(model, [i], cache)
    return decode_by_model(model, ids, count, cache)


@wrong("decode", "from the first row of the logits")
def first_row(model, ids, count, cache):
    _refuse(ids, count, cache)
    cache.rewind(min(cache.length, len(ids) - 1))
    fresh, new = list(ids[cache.length :]), []
    for _ in range(count):
        new.append(int(model(torch.tensor([fresh]), cache)[0, 0].argmax()))
        fresh = new[-1:]
    return new


@wrong("decode", "the last new id never passes")
def wants_too_much_room(model, ids, count, cache):
    if not ids or len(ids) + count > cache.capacity:
        raise ValueError("no room")
    return decode_by_model(model, ids, count, cache)


@wrong("decode", "before the first pass")
def stops_in_the_middle(model, ids, count, cache):
    if not ids:
        raise ValueError("no ids")
    cache.rewind(min(cache.length, len(ids) - 1))
    fresh, new = list(ids[cache.length :]), []
    for _ in range(count):
        new.append(int(prefill(model, fresh, cache).argmax()))
        fresh = new[-1:]
    return new


@wrong("decode", "plain whole numbers")
def ids_as_tensors(model, ids, count, cache):
    return [torch.tensor(i) for i in decode_by_model(model, ids, count, cache)]


@wrong("decode", "does every path end with a return")
def decode_forgets_return(model, ids, count, cache):
    decode_by_model(model, ids, count, cache)


@right("decode")
def decode_by_model(model, ids, count, cache):
    if len(ids) == 0:
        raise ValueError("nothing to continue")
    if len(ids) - 1 + count > cache.capacity:
        raise ValueError("no room")
    text = list(ids)
    if cache.length >= len(ids):
        cache.rewind(len(ids) - 1)
    while len(text) < len(ids) + count:
        logits = model(torch.tensor([text[cache.length :]]), cache)
        text.append(logits[0, -1].argmax().item())
    return text[len(ids) :]


@right("decode")
def decode_recursively(model, ids, count, cache):
    _refuse(ids, count, cache)
    if count == 0:
        return []
    cache.rewind(min(cache.length, len(ids) - 1))
    newest = int(prefill(model, list(ids)[cache.length :], cache).argmax())
    return [newest, *(decode_recursively(model, [*ids, newest], count - 1, cache) if count > 1 else [])]


# evict


def _fits(cache, sinks, window):
    if sinks < 0 or window < 1 or sinks + window >= cache.capacity:
        raise ValueError("no place would be free")
    return cache.length > sinks + window


def _turn(x, positions, frequencies):
    return apply_rope(x.float(), *rope_tables(torch.as_tensor(positions), frequencies)).to(x.dtype)


def _move(cache, sinks, window, keys, values=None, keep=None):
    """Write the window's keys and values to their new places."""
    old, new = slice(cache.length - window, cache.length), slice(sinks, sinks + window)
    cache.keys[:, :, :, new] = keys
    cache.values[:, :, :, new] = cache.values[:, :, :, old].clone() if values is None else values
    cache.rewind(sinks + window if keep is None else keep)


def _window(cache, window):
    return cache.keys[:, :, :, cache.length - window : cache.length].clone()


@wrong("evict", "the window's keys are not turned")
def not_turned(cache, sinks, window, frequencies):
    if _fits(cache, sinks, window):
        _move(cache, sinks, window, _window(cache, window))


@wrong("evict", "turned the wrong way")
def wrong_way(cache, sinks, window, frequencies):
    if _fits(cache, sinks, window):
        dropped = cache.length - sinks - window
        _move(cache, sinks, window, _turn(_window(cache, window), [dropped], frequencies))


@wrong("evict", "the new positions are added to the old ones")
def positions_restart(cache, sinks, window, frequencies):
    if _fits(cache, sinks, window):
        _move(cache, sinks, window, _turn(_window(cache, window), range(sinks, sinks + window), frequencies))


@wrong("evict", "the keys are turned to position 0")
def back_to_zero(cache, sinks, window, frequencies):
    if _fits(cache, sinks, window):
        old = range(cache.length - window, cache.length)
        _move(cache, sinks, window, _turn(_window(cache, window), [-p for p in old], frequencies))


@wrong("evict", "is turned to position 0: the sinks stand in front")
def sinks_not_counted(cache, sinks, window, frequencies):
    if _fits(cache, sinks, window):
        _move(cache, sinks, window, _turn(_window(cache, window), [window - cache.length], frequencies))


@wrong("evict", "off by one position")
def one_too_far(cache, sinks, window, frequencies):
    if _fits(cache, sinks, window):
        dropped = cache.length - sinks - window
        _move(cache, sinks, window, _turn(_window(cache, window), [-dropped - 1], frequencies))


@wrong("evict", "the values are turned too")
def values_too(cache, sinks, window, frequencies):
    if _fits(cache, sinks, window):
        dropped = cache.length - sinks - window
        values = _turn(cache.values[:, :, :, cache.length - window : cache.length].clone(), [-dropped], frequencies)
        _move(cache, sinks, window, _turn(_window(cache, window), [-dropped], frequencies), values)


@wrong("evict", "the values have not moved")
def keys_alone(cache, sinks, window, frequencies):
    if _fits(cache, sinks, window):
        dropped = cache.length - sinks - window
        values = cache.values[:, :, :, sinks : sinks + window]
        _move(cache, sinks, window, _turn(_window(cache, window), [-dropped], frequencies), values)


@wrong("evict", "the sinks are dropped")
def sinks_dropped(cache, sinks, window, frequencies):
    if _fits(cache, sinks, window):
        dropped = cache.length - window
        _move(cache, 0, window, _turn(_window(cache, window), [-dropped], frequencies))


@wrong("evict", "the sinks are dropped")
def last_of_all(cache, sinks, window, frequencies):
    if _fits(cache, sinks, window):
        kept = sinks + window
        _move(cache, 0, kept, _turn(_window(cache, kept), [kept - cache.length], frequencies))


@wrong("evict", "the newest tokens are dropped")
def first_of_all(cache, sinks, window, frequencies):
    if _fits(cache, sinks, window):
        cache.rewind(sinks + window)


@wrong("evict", "one token too few")
def window_too_short(cache, sinks, window, frequencies):
    if _fits(cache, sinks, window):
        dropped = cache.length - sinks - window + 1
        _move(cache, sinks, window - 1, _turn(_window(cache, window - 1), [-dropped], frequencies))


@wrong("evict", "it ends with the newest token")
def window_off_by_one(cache, sinks, window, frequencies):
    if _fits(cache, sinks, window):
        old = slice(cache.length - window - 1, cache.length - 1)
        dropped = cache.length - 1 - sinks - window
        keys, values = cache.keys[:, :, :, old].clone(), cache.values[:, :, :, old].clone()
        _move(cache, sinks, window, _turn(keys, [-dropped], frequencies), values)


@wrong("evict", "the sinks' keys are turned too")
def everything_turned(cache, sinks, window, frequencies):
    if _fits(cache, sinks, window):
        dropped = cache.length - sinks - window
        _move(cache, sinks, window, _turn(_window(cache, window), [-dropped], frequencies))
        cache.keys[:, :, :, :sinks] = _turn(cache.keys[:, :, :, :sinks], [-dropped], frequencies)


@wrong("evict", "only layer 0 is changed")
def first_layer_only(cache, sinks, window, frequencies):
    if _fits(cache, sinks, window):
        dropped = cache.length - sinks - window
        old, new = slice(cache.length - window, cache.length), slice(sinks, sinks + window)
        cache.keys[0, :, :, new] = _turn(cache.keys[0, :, :, old], [-dropped], frequencies)
        cache.values[0, :, :, new] = cache.values[0, :, :, old].clone()
        cache.rewind(sinks + window)


@wrong("evict", "length has not changed")
def length_as_before(cache, sinks, window, frequencies):
    if _fits(cache, sinks, window):
        dropped = cache.length - sinks - window
        _move(cache, sinks, window, _turn(_window(cache, window), [-dropped], frequencies), keep=cache.length)


@wrong("evict", "(clone)")
def places_overlap(cache, sinks, window, frequencies):
    if _fits(cache, sinks, window):
        dropped = cache.length - sinks - window
        old, new = slice(cache.length - window, cache.length), slice(sinks, sinks + window)
        cache.keys[:, :, :, new] = _turn(cache.keys[:, :, :, old], [-dropped], frequencies)
        cache.values[:, :, :, new] = cache.values[:, :, :, old]
        cache.rewind(sinks + window)


@wrong("evict", "no place would be free")
def may_stay_full(cache, sinks, window, frequencies):
    if sinks < 0 or window < 1:
        raise ValueError("negative")
    if cache.length > sinks + window:
        dropped = cache.length - sinks - window
        _move(cache, sinks, window, _turn(_window(cache, window), [-dropped], frequencies))


@wrong("evict", "nothing happens")
def always_moves(cache, sinks, window, frequencies):
    _fits(cache, sinks, window)
    dropped = cache.length - sinks - window
    _move(cache, sinks, window, _turn(_window(cache, window), [-dropped], frequencies))


@wrong("evict", "may hold bfloat16")
def float64_only(cache, sinks, window, frequencies):
    if _fits(cache, sinks, window):
        dropped = cache.length - sinks - window
        if cache.keys.dtype == torch.bfloat16:
            cache.keys.numpy()
        _move(cache, sinks, window, _turn(_window(cache, window), [-dropped], frequencies))


@right("evict")
def evict_layer_by_layer(cache, sinks, window, frequencies):
    if not _fits(cache, sinks, window):
        return
    dropped = cache.length - sinks - window
    for layer in range(len(cache.keys)):
        keys, values = (t.clone() for t in cache.view(layer, cache.length))
        for n in range(window):
            keys_of_one = _turn(keys[:, :, -window + n : cache.length - window + n + 1], [-dropped], frequencies)
            cache.keys[layer, :, :, sinks + n] = keys_of_one[:, :, 0]
            cache.values[layer, :, :, sinks + n] = values[:, :, -window + n]
    cache.rewind(sinks + window)


@right("evict")
def evict_by_numpy(cache, sinks, window, frequencies):
    if not _fits(cache, sinks, window):
        return
    old, dropped = slice(cache.length - window, cache.length), cache.length - sinks - window
    x = cache.keys[:, :, :, old].double().numpy()
    half = x.shape[-1] // 2
    turned = (x[..., :half] + 1j * x[..., half:]) * np.exp(-1j * dropped * frequencies.double().numpy())
    x = torch.from_numpy(np.concatenate((turned.real, turned.imag), -1))
    _move(cache, sinks, window, x.to(cache.keys.dtype))


@right("evict")
def evict_by_old_and_new_positions(cache, sinks, window, frequencies):
    if not _fits(cache, sinks, window):
        return
    old = torch.arange(cache.length - window, cache.length)
    plain = _turn(_window(cache, window).float(), -old, frequencies)
    keys = _turn(plain, torch.arange(sinks, sinks + window), frequencies)
    assert math.isfinite(float(keys.sum()))
    _move(cache, sinks, window, keys.to(cache.keys.dtype))
