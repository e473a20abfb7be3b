"""What is kept: until it is old, or others need the room."""

import pytest

from toledo.serve.problems import ServeError
from toledo.serve.store import ID, Store, new_id


def test_values_expire_after_their_last_use():
    now = [0.0]
    store: Store[str] = Store("f", "forest", 100, 10.0, lambda: now[0])
    key = store.put("a", 10)
    now[0] = 9.0
    assert store.get(key) == "a"
    now[0] = 18.0
    assert (store.get(key), store.size) == ("a", 10)
    now[0] = 29.0
    assert store.size == 0
    with pytest.raises(ServeError) as gone:
        store.get(key)
    assert gone.value.status == 410


def test_the_least_used_goes_first():
    store: Store[str] = Store("f", "forest", 100, 10.0, lambda: 0.0)
    keys = [store.put(name, 40) for name in "ab"]
    assert store.get(keys[0]) == "a"
    store.put("c", 40)
    assert store.get(keys[0]) == "a"
    with pytest.raises(ServeError):
        store.get(keys[1])
    store.put("too large", 101)
    assert store.size == 0


@pytest.mark.parametrize("key", ["", "f_", "x", "../../etc/passwd", "c_" + "x" * 16, "f_" + "x" * 15 + "/"])
def test_what_is_no_id_is_not_found(key: str):
    with pytest.raises(ServeError) as missing:
        Store("f", "forest", 100, 10.0, lambda: 0.0).get(key)
    assert missing.value.status == 404


def test_ids_cannot_be_guessed():
    keys = {new_id("f") for _ in range(100)}
    assert len(keys) == 100
    assert all(ID.fullmatch(key) for key in keys)
