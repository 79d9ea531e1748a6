/* The editor of the page Try a query: SQL in colours, names of the catalog offered, problems underlined. */
import {
  autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { SQLDialect, sql } from "@codemirror/lang-sql";
import { HighlightStyle, bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/* What queries over streams are written with; which words a text may use is decided elsewhere. */
const KEYWORDS = "all and anti as asc asof between by case cast create cross cumulate current current_date"
  + " current_timestamp date_trunc day days desc distinct else emit end escape except exists explode extract"
  + " false fetch filter final first following for from full group grouping having hop hour hours if in inner"
  + " insert intersect interval into is join lag last lateral lead left like limit lookup match_recognize"
  + " materialized minute minutes month months natural not now null nulls of offset on only or order outer over"
  + " partition preceding qualify range recursive right row rows second seconds select semi session sets sink"
  + " size some source stream struct system_time table then ties to top true tumble unbounded union unnest"
  + " using values view watermark when where window with within year years avg coalesce count dense_rank max"
  + " min rank row_number sum";
const TYPES = "bigint boolean bool bytes char date decimal double float int integer numeric real smallint string"
  + " text time timestamp timestamp_ltz timestamptz tinyint varchar";
const dialect = SQLDialect.define({ keywords: KEYWORDS, types: TYPES, identifierQuotes: "`\"" });

/* Every colour is the page's own, so that light and dark are the page's affair. */
const theme = EditorView.theme({
  "&": { backgroundColor: "var(--page)", color: "var(--text)", border: "1px solid var(--muted)", borderRadius: "6px" },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "2px" },
  ".cm-scroller": {
    fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
    fontSize: "13px",
    lineHeight: "1.55",
    maxHeight: "55vh",
    minHeight: "9.5em",
  },
  ".cm-content": { caretColor: "var(--text)", padding: "8px 0" },
  ".cm-line": { backgroundColor: "var(--page)" },
  ".cm-gutters": { backgroundColor: "var(--card)", color: "var(--muted)", borderRight: "1px solid var(--edge)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--mark)", color: "inherit" },
  // Below the last line, where nothing is.
  "& .cm-gutters": { minHeight: "9.5em" },
  ".cm-tooltip": {
    backgroundColor: "var(--page)", color: "var(--text)", border: "1px solid var(--muted)", borderRadius: "6px",
    maxWidth: "min(560px, 92vw)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "inherit", maxHeight: "14em" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--link)", color: "var(--page)",
  },
  ".cm-completionDetail": { opacity: "1", fontStyle: "normal", marginLeft: "1em", color: "var(--muted)" },
  "li[aria-selected] .cm-completionDetail": { color: "inherit" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "600" },
  ".cm-diagnostic": { whiteSpace: "pre-wrap", padding: "5px 9px" },
  ".cm-diagnostic-error": { borderLeft: "4px solid var(--wrong)" },
  ".cm-diagnostic-warning": { borderLeft: "4px solid var(--open)" },
  // Drawn as text is, not as a picture behind it, so that contrast can be told.
  ".cm-lintRange": { textDecorationLine: "underline", textDecorationStyle: "wavy", textUnderlineOffset: "3px" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecorationColor: "var(--wrong)" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecorationColor: "var(--open)" },
  ".cm-panels": { backgroundColor: "var(--card)", color: "var(--text)" },
});
const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier, tags.bool, tags.null], color: "var(--keyword)", fontWeight: "600" },
  { tag: tags.typeName, color: "var(--open)" },
  { tag: [tags.string, tags.number], color: "var(--string)" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
]);

/* Columns of the relations that the text names: also where no alias leads them. */
const columnsOf = (schema) => (context) => {
  const word = context.matchBefore(/\w+/);
  if (!word || context.matchBefore(/\.\w*/)) return null;
  const named = new Set(context.state.doc.toString().toLowerCase().match(/\w+/g));
  const options = Object.entries(schema)
    .filter(([name]) => named.has(name.toLowerCase()))
    .flatMap(([name, { children }]) => children.map((one) => ({ ...one, detail: `${one.detail}, ${name}` })));
  return options.length ? { from: word.from, options, validFor: /^\w*$/ } : null;
};

/* Offsets count characters; the editor counts half surrogates too. */
const place = (text, offset) => Array.from(text).slice(0, offset).join("").length;

/**
 * Puts an editor into a shadow root below `parent`: there its styles need no exception of the page's policy.
 *
 * `schema` is {relation: {self, children}} of completions; `changed` hears each edit, `decide` Ctrl-Enter.
 */
window.streamboundEditor = ({ parent, text, label, schema, changed, decide }) => {
  const root = parent.attachShadow({ mode: "open" });
  const language = sql({ dialect, schema, upperCaseKeywords: true });
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        highlightSpecialChars(),
        history(),
        bracketMatching(),
        closeBrackets(),
        autocompletion({ icons: false }),
        language,
        language.language.data.of({ autocomplete: columnsOf(schema) }),
        syntaxHighlighting(colours),
        theme,
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", tabindex: "0" }),
        EditorView.updateListener.of((update) => { if (update.docChanged) changed(); }),
        // Tab leaves the editor, for those who have no mouse.
        keymap.of([
          { key: "Mod-Enter", run: () => { decide(); return true; } },
          ...closeBracketsKeymap, ...completionKeymap, ...lintKeymap, ...historyKeymap, ...defaultKeymap,
        ]),
      ],
    }),
  });
  const read = () => view.state.doc.toString();
  return {
    read,
    write: (given) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: given } }),
    focus: () => view.focus(),
    /* [{start, end, severity, message}] of the text as it is. */
    mark: (marks) => {
      const whole = read();
      const found = marks.map(({ start, end, severity, message }) => {
        const [from, to] = [place(whole, start), place(whole, end)];
        return { from, to: Math.max(to, Math.min(from + 1, whole.length)), severity, message };
      });
      view.dispatch(setDiagnostics(view.state, found.sort((one, other) => one.from - other.from)));
    },
  };
};
