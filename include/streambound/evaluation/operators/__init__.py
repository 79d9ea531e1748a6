"""Operations on rows that change: groups, ranks, frames, guards, versions; one module each."""
