// @vitest-environment happy-dom
// The end of a list loads the next page by itself, whatever else reads the list at the same time.

import { cleanup, render } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';

import { More } from '../../src/shared/ui/More';

afterEach(() => {
    cleanup();
    vi.unstubAllGlobals();
});

/** The end of the list is in sight: an observer says so once, as it begins. */
class InSight {
    readonly say: IntersectionObserverCallback;
    constructor(say: IntersectionObserverCallback) {
        this.say = say;
    }
    observe(): void {
        this.say([{ isIntersecting: true } as IntersectionObserverEntry], this as unknown as IntersectionObserver);
    }
    disconnect(): void {}
}

test('a list that is read again meanwhile goes on by itself', () => {
    vi.stubGlobal('IntersectionObserver', InSight);
    const fetchNextPage = vi.fn();
    const idle = { hasNextPage: true, isFetching: false, isFetchingNextPage: false, isError: false, fetchNextPage };
    const view = render(<More list={idle} shown={20} what="agent" />);
    expect(fetchNextPage).toHaveBeenCalledTimes(1);
    // The list is read again, which stops the reading of the next page.
    view.rerender(<More list={{ ...idle, isFetching: true }} shown={20} what="agent" />);
    expect(fetchNextPage).toHaveBeenCalledTimes(1);
    view.rerender(<More list={idle} shown={20} what="agent" />);
    expect(fetchNextPage).toHaveBeenCalledTimes(2);
});
