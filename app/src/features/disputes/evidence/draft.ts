// A party's statement while it is being written: a text and files, with the limits of `POST /v1/evidence`.

import { words } from '../words';

const t = words.evidence;

export const MAX_TEXT = 20_000;
export const MAX_FILES = 5;
/** Of all files together, in bytes. */
export const MAX_FILE_BYTES = 1024 * 1024;
const MAX_NAME = 100;

/** A file of the user, read when it is handed in. */
export type DraftFile = { readonly name: string; readonly file: Blob };

export type Draft = { readonly text: string; readonly files: readonly DraftFile[] };

export const EMPTY: Draft = { text: '', files: [] };

const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/;

/** A surrogate without its other half; it has no form in UTF-8. */
const HALF = /\p{Cs}/u;

/** Why the text cannot be handed in; `undefined` if it can. */
export function textProblem(text: string): string | undefined {
    if (text.trim() === '') return t.noText;
    const count = Array.from(text).length;
    if (count > MAX_TEXT) return t.longText(count, MAX_TEXT);
    if (CONTROL.test(text)) return t.control;
    return HALF.test(text) ? t.half : undefined;
}

/** Why the files cannot be handed in; `undefined` if they can. */
export function filesProblem(files: readonly DraftFile[]): string | undefined {
    if (files.length > MAX_FILES) return t.manyFiles(MAX_FILES, files.length - MAX_FILES);
    const empty = files.find(({ file }) => file.size === 0);
    if (empty !== undefined) return t.emptyFile(empty.name);
    const size = sizeOf(files);
    return size > MAX_FILE_BYTES ? t.largeFiles(sizeText(size), sizeText(MAX_FILE_BYTES)) : undefined;
}

export const sizeOf = (files: readonly DraftFile[]): number => files.reduce((sum, { file }) => sum + file.size, 0);

/** Bytes for people. */
export function sizeText(bytes: number): string {
    if (bytes < 1_024) return `${bytes} B`;
    const [size, unit] = bytes < 1_024 ** 2 ? [bytes / 1_024, 'KiB'] : [bytes / 1_024 ** 2, 'MiB'];
    return `${size.toFixed(size < 10 && !Number.isInteger(size) ? 1 : 0)} ${unit}`;
}

/** Adds files under names that the service takes and that no other file has. */
export function withFiles({ text, files }: Draft, added: readonly File[]): Draft {
    const all = [...files];
    for (const file of added) {
        const name = storedName(file.name);
        all.push({
            name: freeName(
                name,
                all.map((other) => other.name),
            ),
            file,
        });
    }
    return { text, files: all };
}

const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\u{1d159}\ufff0-\uffff]|[^\S ]/gu;

/** The name without slashes and without characters that nobody sees. */
export function storedName(name: string): string {
    const plain = name.replace(UNSEEN, '_').replace(/[/\\]/g, '_').trim();
    const cut = Array.from(plain);
    // The end tells what kind of file it is.
    const short =
        cut.length > MAX_NAME ? [...cut.slice(0, MAX_NAME - 21), '\u2026', ...cut.slice(-20)].join('').trim() : plain;
    return short === '' || /^\.+$/.test(short) ? 'file' : short;
}

function freeName(name: string, taken: readonly string[]): string {
    for (let count = 2, free = name; ; count += 1) {
        if (!taken.includes(free)) return free;
        const dot = name.lastIndexOf('.');
        const [stem, ending] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
        const tail = ` (${count})${ending}`;
        free = `${Array.from(stem)
            .slice(0, MAX_NAME - Array.from(tail).length)
            .join('')
            .trim()}${tail}`;
    }
}

const MEDIA_TYPES: Record<string, string> = {
    txt: 'text/plain',
    log: 'text/plain',
    md: 'text/plain',
    json: 'application/json',
    csv: 'text/csv',
    png: 'image/png',
    jpg: 'image/jpeg',
    jpeg: 'image/jpeg',
    pdf: 'application/pdf',
};

/** By the ending alone, as the command line does. */
export function mediaTypeOf(name: string): string {
    const ending = /\.([a-z]+)$/i.exec(name)?.[1]?.toLowerCase() ?? '';
    return Object.hasOwn(MEDIA_TYPES, ending) ? (MEDIA_TYPES[ending] ?? '') : 'application/octet-stream';
}
