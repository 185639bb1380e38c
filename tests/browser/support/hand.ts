// How a test uses a page: with a pointer, or with the keyboard alone. Flows take one, so that both are tested.

import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';

export type Attached = { name: string; mimeType: string; buffer: Buffer };

export type Hand = {
    /** A button, a link, a box to tick. */
    readonly press: (target: Locator) => Promise<void>;
    /** In place of what the field has. */
    readonly write: (field: Locator, text: string) => Promise<void>;
    /** One of several. */
    readonly choose: (radio: Locator) => Promise<void>;
    /** The dialog of the system that chooses files is not part of the page. */
    readonly attach: (field: Locator, files: Attached[]) => Promise<void>;
    readonly key: (name: string) => Promise<void>;
};

export const pointer = (page: Page): Hand => ({
    press: (target) => target.click(),
    write: (field, text) => field.fill(text),
    choose: (radio) => radio.check(),
    attach: (field, files) => field.setInputFiles(files),
    key: (name) => page.keyboard.press(name),
});

/** Tab, Shift+Tab, Enter, Space, arrows and letters. After each step something other than the body has the focus. */
export function keyboard(page: Page): Hand {
    // The browser tells of windows that choose files only while somebody listens, and nobody waits until it knows of a new
    // listener: a key that is pressed at once can come before that.
    page.on('filechooser', () => undefined);
    const key = async (name: string): Promise<void> => {
        await page.keyboard.press(name);
        expect(await focusOf(page), `after ${name} on ${page.url()}`).not.toBe('body');
    };
    return {
        key,
        press: async (target) => {
            await tabTo(page, target);
            await key((await target.getAttribute('type')) === 'checkbox' ? 'Space' : 'Enter');
        },
        write: async (field, text) => {
            await tabTo(page, field);
            await key('Control+a');
            // At once, as an input method or a paste does it: letter by letter a long text takes seconds.
            await page.keyboard.insertText(text);
            expect(await field.inputValue()).toBe(text);
        },
        choose: async (radio) => {
            await tabTo(page, radio);
            if (!(await radio.isChecked())) await key('Space');
        },
        attach: async (field, files) => {
            await tabTo(page, field);
            const opens = page.waitForEvent('filechooser').catch(async () => {
                throw new Error(`Enter opens no window that chooses files; the focus is at ${await focusOf(page)}.`);
            });
            const [chooser] = await Promise.all([opens, page.keyboard.press('Enter')]);
            await chooser.setFiles(files);
        },
    };
}

const MOST_PRESSES = 150;
const LOOKS_AGAIN_MS = 50;

type Way = 'there' | 'later' | 'Tab' | 'Shift+Tab' | 'ArrowDown';

/** Moves the focus to an element by Tab or Shift+Tab, whichever is shorter, and within radio buttons by the arrows. */
export async function tabTo(page: Page, target: Locator): Promise<void> {
    for (let presses = 0; presses < MOST_PRESSES; presses += 1) {
        const way = await target.evaluate(wayTo);
        if (way === 'there') return;
        // The test's own limit of time ends this wait.
        if (way === 'later') {
            presses -= 1;
            await page.waitForTimeout(LOOKS_AGAIN_MS);
        } else {
            await page.keyboard.press(way);
        }
    }
    throw new Error(`The keyboard does not reach ${String(target)} on ${page.url()}: it is at ${await focusOf(page)}.`);
}

/** Runs in the page, so it uses nothing from outside. */
function wayTo(element: Element): Way {
    const active = document.activeElement;
    if (element.matches(':disabled, [aria-disabled="true"]')) return 'later';
    if (element === active) return 'there';
    const isOfGroup =
        element instanceof HTMLInputElement && active instanceof HTMLInputElement && element.type === 'radio' && element.name !== '' && element.name === active.name;
    if (isOfGroup) return 'ArrowDown';
    const isBefore = active !== null && active !== document.body && (active.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_PRECEDING) !== 0;
    return isBefore ? 'Shift+Tab' : 'Tab';
}

/** The element with the focus in words. The body has it for no longer than a browser needs to draw. */
export const focusOf = (page: Page): Promise<string> =>
    page.evaluate(
        () =>
            new Promise<string>((resolve) => {
                const read = (): void => {
                    const active = document.activeElement;
                    resolve(active === null || active === document.body ? 'body' : `${active.tagName} ${(active.textContent ?? '').trim().slice(0, 40)}`);
                };
                requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(read, 50)));
            }),
    );
