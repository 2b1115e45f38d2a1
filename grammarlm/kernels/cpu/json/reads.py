"""Bytes and tokens read by a JSON text: from a config to the next config."""

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.kernels.cpu.json.step.blanks import blanks
from grammarlm.kernels.cpu.json.step.frames import covers
from grammarlm.kernels.cpu.json.step.numbers import number_ends
from grammarlm.kernels.cpu.json.step.step import step
from grammarlm.layout.json import DEAD, NO_FRAME, ROW, SHORT, TOO_MANY, WIDEST, At, Kind, Want

from .fields import arena_of, is_short, longs, octets


@part
def accepts(arena, c, x, y, f):
    if f != NO_FRAME:
        return False
    if c & 31 == Kind.AFTER:
        return blanks(arena, y, int64(4)) != 0  # not between a return and its newline
    return c & 31 == Kind.NUMBER and number_ends(arena[At.PROGRAM] + (c >> 11 & ROW) * 8, x, y)


@part
def may_end(address, record):
    """May the text end here?"""
    arena = arena_of(address)
    records = longs(arena, At.RECORDS)
    while record != 0:
        at = record * 5
        if accepts(arena, records[at], records[at + 1], records[at + 2], records[at + 3]):
            return int64(1)
        record = records[at + 4]
    return int64(0)


@part
def new_record(arena, c, x, y, f, after):
    made = arena[At.RECORD_COUNT]
    if made + 1 >= arena[At.RECORD_CAPACITY]:
        arena[At.WANTED] |= Want.RECORDS
        return int64(0)
    arena[At.RECORD_COUNT] = made + 1
    records = longs(arena, At.RECORDS)
    at = made * 5
    records[at], records[at + 1], records[at + 2], records[at + 3], records[at + 4] = c, x, y, f, after
    return made


@part
def add_thread(arena, threads, count, c, x, y, f):
    """Adds a thread to a config unless it is present. Returns the new count."""
    for i in range(count):
        at = 4 * i
        if threads[at] == c and threads[at + 1] == x and threads[at + 2] == y and covers(arena, threads[at + 3], f):
            return count
    if count >= WIDEST:
        arena[At.WANTED] |= Want.TOO_WIDE
        return count
    at = 4 * count
    threads[at], threads[at + 1], threads[at + 2], threads[at + 3] = c, x, y, f
    return count + 1


@part
def run_threads(arena, count, data_address, length):
    """Advances the threads in SET_A over some bytes. Returns where they are, SET_A or SET_B, and how many."""
    data = carray(pointer(data_address), length, np.uint8)
    done, field = int64(0), int64(At.SET_A)
    while done < length and count > 0 and arena[At.WANTED] & Want.OUT_OF_ROOM == 0:
        byte = int64(data[done])
        made = int64(0)
        now, later = longs(arena, field), longs(arena, At.SET_A + At.SET_B - field)
        for i in range(count):
            at = 4 * i
            way = int64(0)
            while arena[At.WANTED] & Want.OUT_OF_ROOM == 0:
                c, x, y, f = step(arena, now[at], now[at + 1], now[at + 2], now[at + 3], byte, way)
                more = arena[At.MORE]
                if c != DEAD:
                    made = add_thread(arena, later, made, c, x, y, f)
                if more == 0:
                    break
                way += 1
        field = At.SET_A + At.SET_B - field
        count = made
        done += 1
    return field, count


@inlined
def verdict(arena):
    """The status of a call: 0 if nothing was missing, SHORT, TOO_MANY. It must be returned: other OS threads may call
    before the caller reads WANTED.
    """
    found = int64(0)
    if longs(arena, At.MISSING)[0] != 0 or arena[At.WANTED] & ~int64(Want.TOO_WIDE) != 0:
        found = int64(SHORT)
    elif arena[At.WANTED] != 0:
        found = int64(TOO_MANY)
    return found


@inlined
def is_thread(records, record, threads):
    """Is the record this single thread? True within most strings."""
    at = record * 5
    return (
        records[at] == threads[0]
        and records[at + 1] == threads[1]
        and records[at + 2] == threads[2]
        and records[at + 3] == threads[3]
        and records[at + 4] == 0
    )


@part
def read_bytes(address, record, data_address, length):
    """The config after some bytes; 0: rejected; SHORT: see WANTED and MISSING; TOO_MANY: too ambiguous."""
    arena = arena_of(address)
    records = longs(arena, At.RECORDS)
    arena[At.WANTED] = longs(arena, At.MISSING)[0] = 0
    frames_before, chains_before = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
    count, before = int64(0), record
    while record != 0:
        at = record * 5
        count = add_thread(
            arena, longs(arena, At.SET_A), count, records[at], records[at + 1], records[at + 2], records[at + 3]
        )
        record = records[at + 4]
    field, count = run_threads(arena, count, data_address, length)
    now = longs(arena, field)
    if count == 1 and not is_short(arena) and is_thread(records, before, now):
        arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before
        return before
    result = int64(0)
    for i in range(count - 1, -1, -1):
        at = 4 * i
        result = new_record(arena, now[at], now[at + 1], now[at + 2], now[at + 3], result)
    if result == 0 or is_short(arena):
        arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before
        result = verdict(arena)
    return result


@part
def read_token(address, record, token):
    """The config after a token, as read_bytes."""
    arena = arena_of(address)
    arena[At.WANTED] = longs(arena, At.MISSING)[0] = 0
    if token < 0 or token >= arena[At.VOCABULARY]:
        return int64(0)
    if octets(arena, At.IS_TEXT)[token] == 0:
        return int64(0)
    offsets = longs(arena, At.OFFSETS)
    return read_bytes(address, record, arena[At.DATA] + offsets[token], offsets[token + 1] - offsets[token])
