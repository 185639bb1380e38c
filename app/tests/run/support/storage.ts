// What a browser keeps for a page, in memory.

export class FakeStorage {
    isFull = false;
    readonly #items = new Map<string, string>();

    get length(): number {
        return this.#items.size;
    }

    key = (index: number): string | null => [...this.#items.keys()][index] ?? null;
    getItem = (key: string): string | null => this.#items.get(key) ?? null;
    removeItem = (key: string): void => void this.#items.delete(key);

    setItem = (key: string, value: string): void => {
        if (this.isFull) throw new DOMException('full', 'QuotaExceededError');
        this.#items.set(key, value);
    };
}
