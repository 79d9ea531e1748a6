-- What the documentation of this dialect shows, over the streams t and u and the static relation s of the test.
-- Above each text: the verdict of its last query, or what is not decided.
-- bounded
IMPORT data.t; X := SELECT id FROM t
-- bounded
X(a INT) := SELECT id FROM t
-- unbounded
X := DISTINCT t ON id ORDER BY ts DESC
-- bounded
/** doc */ X := SELECT id FROM t; Y := SELECT * FROM X
-- bounded
EXPORT X TO print.x; X := SELECT id FROM t
