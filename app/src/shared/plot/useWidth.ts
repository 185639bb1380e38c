// The width of an element in pixels, so that the letters of a plot have the same size on every screen.

import { useEffect, useRef, useState } from 'react';

/** Until the real width is known. */
const USUAL_WIDTH = 640;
const LEAST_WIDTH = 200;

export function useWidth() {
    const ref = useRef<HTMLDivElement>(null);
    const [width, setWidth] = useState(USUAL_WIDTH);
    useEffect(() => {
        if (ref.current === null) return;
        const watch = new ResizeObserver(([entry]) => setWidth(Math.max(entry?.contentRect.width ?? 0, LEAST_WIDTH)));
        watch.observe(ref.current);
        return () => watch.disconnect();
    }, []);
    return { ref, width };
}
