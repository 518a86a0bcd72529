import pytest
import torch
from torch.nn import functional as F

from llmlite.embedding import embed, nearest, softmax, unembed

INF = float("inf")


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (2, 0), (1, 2, 3)])
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8])
def test_embed_equals_torch_and_the_one_hot_product(shape, dtype):
    ids, table = torch.randint(0, 11, shape), torch.randn(11, 6)
    vectors = embed(ids.to(dtype), table)
    assert torch.equal(vectors, F.embedding(ids, table))
    torch.testing.assert_close(vectors, F.one_hot(ids, 11).float() @ table)


@pytest.mark.parametrize("ids", [[-1], [11], [0, 3, 99], [[2], [-2]]])
def test_embed_refuses_ids_that_are_not_rows(ids):
    with pytest.raises(ValueError, match="rows 0 to 10"):
        embed(torch.tensor(ids), torch.randn(11, 6))


@pytest.mark.parametrize("ids", [torch.tensor([1.0]), torch.tensor([1.0]).half(), torch.tensor([True])])
def test_embed_refuses_ids_that_are_not_whole_numbers(ids):
    with pytest.raises(ValueError, match="must be integers"):
        embed(ids, torch.randn(11, 6))


@pytest.mark.parametrize("dim", [-1, 0, 1, 2])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_softmax_equals_torch(dim, dtype):
    scores = (torch.randn(3, 4, 5) * 10).to(dtype)
    before = scores.clone()
    result = softmax(scores, dim)
    assert result.dtype == dtype
    torch.testing.assert_close(result, torch.softmax(scores, dim))
    assert torch.equal(scores, before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize(
    ("scores", "want"),
    [
        ([1000, 999], [0.731059, 0.268941]),
        ([1e4, -1e4], [1, 0]),
        ([-1e4, -1e4], [0.5, 0.5]),
        ([-INF, 0, -INF], [0, 1, 0]),
        ([-INF, -INF], [0, 0]),
    ],
)
def test_softmax_of_large_and_forbidden_scores(scores, want, dtype):
    """B21, B20."""
    torch.testing.assert_close(
        softmax(torch.tensor(scores, dtype=dtype)), torch.tensor(want, dtype=dtype), atol=5e-4, rtol=1e-5
    )


def test_softmax_of_one_forbidden_row_leaves_the_others():
    scores = torch.randn(3, 4)
    want = torch.softmax(scores, -1)
    want[1] = 0
    scores[1] = -INF
    torch.testing.assert_close(softmax(scores), want)


def test_softmax_sums_half_precision_in_float32():
    """4096 equal scores: summed in float16 the total would stop growing at 2048."""
    assert softmax(torch.zeros(4096, dtype=torch.float16)).float().sum().item() == pytest.approx(1)


@pytest.mark.parametrize("shape", [(6,), (2, 6), (2, 3, 6)])
def test_unembed_equals_linear(shape):
    hidden, table = torch.randn(shape), torch.randn(11, 6)
    torch.testing.assert_close(unembed(hidden, table), F.linear(hidden, table))


@pytest.mark.parametrize("k", [1, 4, 20])
def test_nearest_equals_cosine_similarity(k):
    table, query = torch.randn(20, 6) * torch.rand(20, 1) * 9, torch.randn(6)
    similarity, rows = nearest(query, table, k)
    want, want_rows = F.cosine_similarity(query, table).sort(descending=True)
    torch.testing.assert_close(similarity, want[:k])
    assert torch.equal(rows, want_rows[:k])


def test_nearest_gives_a_zero_row_no_similarity():
    table = torch.tensor([[0.0, 0.0], [1.0, 1.0], [-1.0, 0.0]])
    similarity, rows = nearest(torch.tensor([3.0, 0.0]), table, 3)
    assert rows.tolist() == [1, 0, 2]
    torch.testing.assert_close(similarity, torch.tensor([0.5**0.5, 0.0, -1.0]))


@pytest.mark.parametrize("k", [0, -1, 4])
def test_nearest_refuses_more_rows_than_there_are(k):
    with pytest.raises(ValueError, match="number of rows, 3"):
        nearest(torch.ones(2), torch.ones(3, 2), k)
