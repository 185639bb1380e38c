// @vitest-environment happy-dom
// The beginnings of tasks stay in this browser: few, short, for each wallet, and gone when their owner wants it.

import { act, renderHook } from '@testing-library/react';
import { beforeEach, expect, test } from 'vitest';

import { putCall } from '../src/features/run/call/stored';
import { excerptOf, forgetTasks, rememberTask, useTasks } from '../src/shared/tasks';

beforeEach(() => localStorage.clear());

const tasksOf = (wallet: string) => renderHook(() => useTasks(wallet)).result.current;

test('a task becomes one short line, and a huge one costs no time', () => {
    expect(excerptOf(' one\n\n two\tthree ')).toBe('one two three');
    expect(excerptOf('x'.repeat(121))).toBe(`${'x'.repeat(120)}\u2026`);
    expect(Array.from(excerptOf('\u{1f600}'.repeat(200)))).toHaveLength(121);
    expect(excerptOf('\u{1f600}'.repeat(121))).not.toMatch(/[\ud800-\udbff](?![\udc00-\udfff])/);
    // In one piece, as a field gives it.
    const huge = JSON.parse(JSON.stringify(' \n'.repeat(1_000_000))) as string;
    const began = performance.now();
    for (let again = 0; again < 100; again += 1) excerptOf(huge);
    expect(performance.now() - began).toBeLessThan(500);
});

test('the newest two hundred stay, each wallet has its own, and they can be removed', () => {
    for (let number = 0; number < 205; number += 1) rememberTask('one', `id-${number}`, `task ${number}`);
    rememberTask('other', 'id-1', 'of another wallet');
    expect(tasksOf('one').size).toBe(200);
    expect([tasksOf('one').get('id-204'), tasksOf('one').get('id-4')]).toEqual(['task 204', undefined]);
    const { result } = renderHook(() => useTasks('one'));
    act(() => forgetTasks('one'));
    expect([result.current.size, tasksOf('other').get('id-1')]).toEqual([0, 'of another wallet']);
});

test('what is stored is not believed', () => {
    for (const text of ['{', '7', '{"a":1}', '[["id"],["id",7],null,["id","task",1]]']) {
        localStorage.setItem('crtx.tasks.one', text);
        expect(tasksOf('one').size).toBe(0);
    }
    localStorage.setItem('crtx.tasks.one', '[7,["id","task"]]');
    expect([...tasksOf('one')]).toEqual([['id', 'task']]);
});

test('a call is remembered when it is signed, once, and not before', () => {
    const call = {
        executionId: 'id',
        wallet: 'one',
        task: 'Count words',
        price: '1',
        createdAt: '2026-11-28T00:00:00Z',
    } as Parameters<typeof putCall>[0];
    putCall(call);
    expect(tasksOf('one').size).toBe(0);
    putCall({ ...call, signature: 'signature' });
    putCall({ ...call, signature: 'signature', handedOver: true });
    expect([...tasksOf('one')]).toEqual([['id', 'Count words']]);
});
