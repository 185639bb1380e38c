// @vitest-environment happy-dom
// The focus stays in the page, whatever becomes of the element that has it.

import { afterEach, beforeEach, expect, test } from 'vitest';

import { keepFocus } from '../src/app/focus';

let stop: () => void;
const element = (id: string): HTMLElement => {
    const found = document.getElementById(id);
    if (found === null) throw new Error(`There is no ${id}.`);
    return found;
};
const settled = async (): Promise<void> => {
    for (let frame = 0; frame < 4; frame += 1) await new Promise((resolve) => requestAnimationFrame(resolve));
};

beforeEach(() => {
    document.body.innerHTML = `
        <main id="main" tabindex="-1">
            <section id="keys"><ul><li id="key"><div id="row"><button id="revoke">Revoke</button><button id="rename">Rename</button></div></li></ul></section>
        </main>`;
    stop = keepFocus(document);
});
afterEach(() => stop());

test('an element that is removed leaves the focus to what it was in', async () => {
    element('revoke').focus();
    element('row').remove();
    await settled();
    expect(document.activeElement?.id).toBe('key');
    // And what it was in can go, too.
    element('keys').remove();
    await settled();
    expect(document.activeElement?.id).toBe('main');
});

test('an element that is disabled for a while gets the focus back', async () => {
    const button = element('revoke') as HTMLButtonElement;
    button.focus();
    button.disabled = true;
    await settled();
    expect(document.activeElement?.id).toBe('key');
    button.disabled = false;
    await settled();
    expect(document.activeElement?.id).toBe('revoke');
    expect(element('key').hasAttribute('tabindex')).toBe(false);
});

test('a user who has moved on meanwhile is left alone', async () => {
    const button = element('revoke') as HTMLButtonElement;
    button.focus();
    button.disabled = true;
    await settled();
    element('rename').focus();
    button.disabled = false;
    await settled();
    expect(document.activeElement?.id).toBe('rename');
});

test('a user who leaves an element that is still there has left it', async () => {
    element('revoke').focus();
    element('revoke').blur();
    element('key').append('news');
    await settled();
    expect(document.activeElement).toBe(document.body);
});

test('a link within the page takes the focus along to where it leads', async () => {
    const link = document.createElement('a');
    element('key').append(link);
    const target = document.createElement('h2');
    target.id = 'rename-heading';
    link.href = '#rename-heading';
    element('main').append(target);
    link.focus();
    location.hash = '#rename-heading';
    link.blur();
    await settled();
    expect(document.activeElement?.id).toBe('rename-heading');
    location.hash = '';
});
