// A request that is written in a form: its URL, headers and body, the same as a command line, and what comes back.

import { shellWord } from '../agent';
import type { Operation, Parameter } from './reference';
import { apiWords as words } from './apiWords';

export type Draft = {
    /** By `keyOf` its parameter. */
    readonly values: Readonly<Record<string, string>>;
    readonly body: string;
};

export type Written = {
    readonly method: string;
    readonly url: string;
    readonly headers: readonly (readonly [name: string, value: string])[];
    /** `null`: none, or bytes that are no text. */
    readonly body: string | null;
    readonly hasBytes: boolean;
    /** Parameters that are still missing, or cannot be sent. */
    readonly problems: readonly string[];
};

export const JSON_TYPE = 'application/json';

export const keyOf = ({ place, name }: Parameter): string => `${place} ${name}`;

/** A part of a URL. Half of a surrogate pair has no form in one. */
const encoded = (text: string): string => encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'));

/** What a header can carry (RFC 9110); a browser refuses the rest. */
const HEADER_VALUE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

export function write(
    { method, path, parameters, body }: Operation,
    { values, body: text }: Draft,
    origin: string,
): Written {
    const problems: string[] = [];
    const headers: [string, string][] = [];
    const query: string[] = [];
    let filled = path;
    for (const parameter of parameters) {
        const { name, place, required } = parameter;
        const value = values[keyOf(parameter)] ?? '';
        if (value === '') {
            if (required) problems.push(words.request.missing(name));
        } else if (place === 'header') {
            if (!HEADER_VALUE.test(value)) problems.push(words.request.badHeader(name));
            headers.push([name, value]);
        } else if (place === 'query') {
            query.push(`${encoded(name)}=${encoded(value)}`);
        } else {
            // A browser takes these as steps within the path, however they are written.
            if (/^\.{1,2}$/.test(value)) problems.push(words.request.dots(name));
            filled = filled.replaceAll(`{${name}}`, () => encoded(value));
        }
    }
    const hasBytes = body !== null && body.type !== JSON_TYPE;
    if (body !== null) headers.push(['Content-Type', body.type]);
    const url = `${origin}${filled}${query.length > 0 ? `?${query.join('&')}` : ''}`;
    return { method, url, headers, body: body === null || hasBytes ? null : text, hasBytes, problems };
}

/** The request as a command for a POSIX shell. `authorization`: a word of the shell, or `null`. */
export function curlOf({ method, url, headers, body, hasBytes }: Written, authorization: string | null): string {
    const options = [
        ...(method === 'GET' ? [] : [`-X ${method}`]),
        ...(authorization === null ? [] : [`-H ${authorization}`]),
        ...headers.map(([name, value]) => `-H ${shellWord(`${name}: ${value}`)}`),
        // `-d` would take a text that begins with @ as the name of a file.
        ...(body === null ? [] : [`--data-raw ${shellWord(body)}`]),
        ...(hasBytes ? ['--data-binary @FILE'] : []),
    ];
    return [`curl -sS --url ${shellWord(url)}`, ...options].join(' \\\n  ');
}

/** The header of a credential, as a word of a shell. */
export const bearerWord = (token: string): string => shellWord(`Authorization: Bearer ${token}`);

/** The beginning of an answer as text, and whether it has more. */
export async function readStart({ body }: Response, mostBytes: number): Promise<{ text: string; isCut: boolean }> {
    const decoder = new TextDecoder();
    const reader = body?.getReader();
    let [text, left] = ['', mostBytes];
    for (let chunk = await reader?.read(); chunk?.value !== undefined; chunk = await reader?.read()) {
        text += decoder.decode(chunk.value.subarray(0, left), { stream: true });
        left -= chunk.value.length;
        if (left < 0) {
            void reader?.cancel().catch(() => undefined);
            return { text, isCut: true };
        }
    }
    return { text: text + decoder.decode(), isCut: false };
}

const TOKEN = /"(?:[^"\\]|\\[^])*"?|[{}[\],:]|[^\s"{}[\],:]+/g;
const MAX_INDENT = 10;

/** JSON in lines. Only the white space changes: numbers stay as the service wrote them. */
export function laidOut(json: string): string {
    const tokens = json.match(TOKEN) ?? [];
    let [out, depth] = ['', 0];
    const line = (): string => `\n${'  '.repeat(Math.min(depth, MAX_INDENT))}`;
    tokens.forEach((token, index) => {
        const isEmpty = tokens[index - 1] === '{' || tokens[index - 1] === '[';
        if (token === '}' || token === ']') {
            depth = Math.max(0, depth - 1);
            out += isEmpty ? token : line() + token;
        } else {
            out += (isEmpty ? line() : '') + token;
            if (token === '{' || token === '[') depth += 1;
            if (token === ',') out += line();
            if (token === ':') out += ' ';
        }
    });
    return out;
}
