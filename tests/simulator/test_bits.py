"""The set of numbers that LFD keeps its steps in, against Python's own."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streambound.simulator.bits import clear_bit, greatest_bit, no_bits, set_bit


@given(data=st.data(), count=st.sampled_from([1, 31, 32, 33, 1023, 1024, 40_000]))
def test_bits_are_a_set_that_knows_its_greatest(data: st.DataObject, count: int) -> None:
    bits, known = no_bits(count), set[int]()
    for number in data.draw(st.lists(st.integers(0, count - 1), max_size=40)):
        if number in known:
            known.remove(number)
            clear_bit(*bits, number)
        else:
            known.add(number)
            set_bit(*bits, number)
        if known:
            assert greatest_bit(*bits) == max(known)
    assert bool(bits[0][bits[1][-1]]) == bool(known)
