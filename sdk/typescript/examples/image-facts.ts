// Honest work without a model: what the first bytes of a PNG, GIF or JPEG say of the picture. The task is its base64.

export type ImageFacts = {
    format: 'png' | 'gif' | 'jpeg';
    width: number;
    height: number;
    /** Bits of one sample; of a palette's index where the colours come from a palette. */
    bits: number;
    colour: 'grey' | 'rgb' | 'palette' | 'cmyk';
    /** Whether each pixel has its own transparency. */
    alpha: boolean;
};

const MAX_SEGMENTS = 10_000;
/** Bytes. No picture of these formats has fewer. */
const SMALLEST = 26;
const UNKNOWN = 'this is no PNG, GIF or JPEG';
const PNG_COLOURS = new Map<number, [ImageFacts['colour'], boolean]>([
    [0, ['grey', false]],
    [2, ['rgb', false]],
    [3, ['palette', false]],
    [4, ['grey', true]],
    [6, ['rgb', true]],
]);
const JPEG_COLOURS = new Map<number, ImageFacts['colour']>([
    [1, 'grey'],
    [3, 'rgb'],
    [4, 'cmyk'],
]);

export function imageFacts(base64: string): ImageFacts {
    const text = atob(base64);
    if (text.length < SMALLEST) throw new Error(UNKNOWN);
    const view = new DataView(Uint8Array.from(text, (character) => character.charCodeAt(0)).buffer);
    const facts = text.startsWith('\x89PNG\r\n\x1a\n\0\0\0\rIHDR')
        ? png(view)
        : /^GIF8[79]a/.test(text)
          ? gif(view)
          : text.startsWith('\xff\xd8')
            ? jpeg(view)
            : undefined;
    if (facts === undefined || facts.width === 0 || facts.height === 0) throw new Error(UNKNOWN);
    return facts;
}

function png(view: DataView): ImageFacts | undefined {
    const [colour, alpha] = PNG_COLOURS.get(view.getUint8(25)) ?? [];
    if (colour === undefined || alpha === undefined) return undefined;
    return {
        format: 'png',
        width: view.getUint32(16),
        height: view.getUint32(20),
        bits: view.getUint8(24),
        colour,
        alpha,
    };
}

function gif(view: DataView): ImageFacts {
    const [width, height] = [view.getUint16(6, true), view.getUint16(8, true)];
    return { format: 'gif', width, height, bits: (view.getUint8(10) & 7) + 1, colour: 'palette', alpha: false };
}

/** Goes from segment to segment to the one that begins a frame. */
function jpeg(view: DataView): ImageFacts | undefined {
    for (let at = 2, segments = 0; at + 10 <= view.byteLength && segments < MAX_SEGMENTS; segments += 1) {
        const marker = view.getUint16(at);
        if (marker < 0xff00) return undefined;
        // FFC4, FFC8 and FFCC are tables and a reserved code.
        if (marker >= 0xffc0 && marker <= 0xffcf && ![0xffc4, 0xffc8, 0xffcc].includes(marker)) {
            const [bits, height, width] = [view.getUint8(at + 4), view.getUint16(at + 5), view.getUint16(at + 7)];
            const colour = JPEG_COLOURS.get(view.getUint8(at + 9));
            return colour === undefined ? undefined : { format: 'jpeg', width, height, bits, colour, alpha: false };
        }
        // Bytes FF may stand before a marker.
        at += marker === 0xffff ? 1 : 2 + view.getUint16(at + 2);
    }
    return undefined;
}
