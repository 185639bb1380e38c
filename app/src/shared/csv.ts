// Tables as CSV files (RFC 4180) that spreadsheets open safely.

/** Spreadsheets take a text that begins with one of these for a formula. Cells hold text of strangers. */
const FORMULA = /^[=+\-@\t\r]/;

const cell = (text: string): string => {
    const safe = FORMULA.test(text) && !/^-?\d+(\.\d+)?$/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

export const csvText = (rows: readonly (readonly string[])[]): string =>
    rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('');

/** Lets the browser save a file that this page made. */
export function saveFile(name: string, mediaType: string, content: string): void {
    const url = URL.createObjectURL(new Blob([content], { type: mediaType }));
    const link = document.createElement('a');
    link.href = url;
    link.download = name;
    link.click();
    URL.revokeObjectURL(url);
}
