// Finds a member that stands twice in one object of a JSON text. `JSON.parse` keeps the last one without a word, and
// the marketplace refuses documents with one.

/** A text, or one of the signs of JSON; the rest says nothing about names. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g;

/** The first repeated name, or `null`. The text must be JSON. */
export function repeatedMember(json: string): string | null {
    /** The names of each object that is open, and `null` for a list. */
    const open: (Set<string> | null)[] = [];
    let isName = false;
    for (const [token] of json.matchAll(TOKEN)) {
        if (token === '{' || token === '[') open.push(token === '{' ? new Set() : null);
        else if (token === '}' || token === ']') open.pop();
        else if (token.startsWith('"') && isName) {
            const names = open.at(-1);
            const name = JSON.parse(token) as string;
            if (names?.has(name)) return name;
            names?.add(name);
        }
        isName = token === '{' || (token === ',' && open.at(-1) instanceof Set);
    }
    return null;
}
