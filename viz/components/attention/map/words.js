// @ts-check
// The picture in words: how much of the attention it shows, and what a token does.

import { format, percent } from "../../shared/numbers.js";
import { quoted } from "../../shared/words.js";
import { meansOf, relationsOf, strongest } from "./links.js";

/**
 * How much of the attention the lines show, and how much is hidden.
 * @param {number} mass percent
 * @param {"keep" | "hide" | "spread"} special
 * @param {{label: string, hidden: number | null}[]} links the hidden share of each one's attention
 */
export function massWords(mass, special, links) {
  const lines = `Lines show ${mass === 100 ? "all" : `at least ${mass} %`} of each row’s attention`;
  const known = links.flatMap(({ label, hidden }) => (hidden === null ? [] : [{ label, hidden }]));
  if (special === "keep" || !known.length) return `${lines}.`;
  const shares = known.map(({ label, hidden }) =>
    known.length > 1 ? `${percent(hidden)} (${label.toLowerCase()})` : percent(hidden),
  );
  const received = `Special tokens and punctuation receive ${shares.join(", ")} of the attention on average`;
  if (special === "spread")
    return `${lines}. ${received}; they are hidden, and their share is spread over the rest.`;
  return `${lines} to the tokens shown. ${received} and are hidden.`;
}

/**
 * The note below the picture.
 * @param {{links: import("./links.js").Link[], coming: number, top: number}} data
 * @param {boolean} scrolls
 */
export function notes({ links, coming, top }, scrolls) {
  const hasArcs = links.some(({ from, to }) => from === to);
  const sentences = [
    coming ? `${coming} ${coming === 1 ? "head is" : "heads are"} still loading.` : "",
    links.length > 1 ? `${links.map(placed).join("; ")}.` : "",
    hasArcs ? "An arc bulges at the token that looks." : "",
    `The larger the weight, the more opaque its line${top < 1 ? `, up to ${top}` : ""}.`,
    scrolls ? "Scroll to see the other tokens; the keys + and − change the row height." : "",
  ];
  return sentences.filter(Boolean).join(" ");
}

/** Where a link's lines are. @param {import("./links.js").Link} link */
function placed({ label, layer, from, to }) {
  const where = from !== to ? "the lines between" : `the arcs on the ${from ? "right" : "left"}`;
  return `${label}, layer ${layer}: ${where}`;
}

/**
 * What a token does in an attention, such as "Cross-attention, layer 3: “cane” looks at".
 * @param {import("./table.js").Rows} rows
 * @param {import("./links.js").Relation} relation
 * @param {import("./links.js").Token} token
 */
export function doing({ columns }, { link, role }, [column, position]) {
  const verb = role === "query" ? "looks at" : "is looked at by";
  return `${link.label}, layer ${link.layer}: ${quoted(columns[column].labels[position])} ${verb}`;
}

/**
 * What a token does in every attention, for screen readers.
 * @param {import("./table.js").Rows} rows
 * @param {import("./links.js").Token} token
 */
export function sentence(rows, token) {
  const { columns, links, shown } = rows;
  const phrases = relationsOf(links, token).map((relation) => {
    const heads = shown.filter((head) => head < relation.link.heads.length);
    const means = meansOf(relation, heads, token[1]);
    if (!means) return `${doing(rows, relation, token)}: still loading`;
    const { labels } = columns[relation.other];
    const named = strongest(means, 3).map((place) => `${labels[place]} ${format(means[place])}`);
    return `${doing(rows, relation, token)} ${named.join(", ") || "nothing"}`;
  });
  return [`${columns[token[0]].title} ${token[1]}`, ...phrases].join(". ");
}
