// What the sources must keep to besides types and tests: the rules of TypeScript and React, and who may import what.

import { readdirSync } from 'node:fs';

import { createNodeResolver, importX } from 'eslint-plugin-import-x';
import reactHooks from 'eslint-plugin-react-hooks';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

/** Files of features that are not their faces. */
const inside = (name) => ({ from: `./src/features/${name}/**/*`, except: ['**/src/features/*/index.ts'] });
const features = readdirSync(new URL('src/features', import.meta.url));

/** Lower layers do not know higher ones, and a feature is imported by its face alone. */
const layers = [
    {
        target: ['./src/chain', './src/shared'],
        from: ['./src/features', './src/app'],
        message: 'It is a higher layer.',
    },
    { target: './src/features', from: './src/app', message: 'It is a higher layer.' },
    { target: './src/app', ...inside('*'), message: 'Import the face of the feature, its index.ts.' },
    ...features.map((name) => ({
        target: `./src/features/${name}`,
        ...inside(`!(${name})`),
        message: 'Import the face of the feature, its index.ts.',
    })),
];

export default defineConfig([
    globalIgnores(['dist', 'public', 'src/generated', 'src/shared/api/schema.d.ts']),
    {
        files: ['**/*.{ts,tsx}'],
        extends: [
            tseslint.configs.strictTypeChecked,
            tseslint.configs.stylisticTypeChecked,
            reactHooks.configs.flat['recommended-latest'],
        ],
        plugins: { 'import-x': importX },
        settings: {
            'import-x/extensions': ['.ts', '.tsx'],
            'import-x/resolver-next': [createNodeResolver({ extensions: ['.ts', '.tsx', '.d.ts'] })],
        },
        languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
        linterOptions: { reportUnusedDisableDirectives: 'error' },
        rules: {
            '@typescript-eslint/consistent-indexed-object-style': 'off',
            '@typescript-eslint/consistent-type-definitions': ['error', 'type'],
            // The compiler option `noPropertyAccessFromIndexSignature` is not set, but the sources follow it.
            '@typescript-eslint/dot-notation': ['error', { allowIndexSignaturePropertyAccess: true }],
            '@typescript-eslint/no-confusing-void-expression': 'off',
            '@typescript-eslint/no-deprecated': [
                'error',
                // Its successors render other elements.
                { allow: [{ from: 'package', package: 'react-aria-components', name: 'Radio' }] },
            ],
            '@typescript-eslint/no-unused-vars': [
                'error',
                { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
            ],
            // `as` names the type that a reader expects; `!` is forbidden.
            '@typescript-eslint/non-nullable-type-assertion-style': 'off',
            // The router takes what `notFound()` makes as an answer.
            '@typescript-eslint/only-throw-error': [
                'error',
                { allow: [{ from: 'package', package: '@tanstack/router-core', name: 'NotFoundError' }] },
            ],
            // An `async` function without `await` still turns what it throws into a rejection.
            '@typescript-eslint/require-await': 'off',
            '@typescript-eslint/restrict-plus-operands': ['error', { allowNumberAndString: true }],
            '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
            'import-x/no-cycle': 'error',
            'import-x/no-restricted-paths': ['error', { basePath: import.meta.dirname, zones: layers }],
            // Two rules of the React compiler, which does not run here: a page that counts time is rendered by a timer, and
            // some state follows what happens outside of React.
            'react-hooks/purity': 'off',
            'react-hooks/set-state-in-effect': 'off',
        },
    },
    {
        files: ['tests/**'],
        rules: {
            // Tests read vectors and answers of mocks as they come.
            '@typescript-eslint/no-explicit-any': 'off',
            '@typescript-eslint/no-non-null-assertion': 'off',
            '@typescript-eslint/no-unsafe-argument': 'off',
            '@typescript-eslint/no-unsafe-assignment': 'off',
            '@typescript-eslint/no-unsafe-call': 'off',
            '@typescript-eslint/no-unsafe-member-access': 'off',
            '@typescript-eslint/no-unsafe-return': 'off',
            '@typescript-eslint/no-empty-function': 'off',
            // `fetch` takes more kinds of values than those that the sources pass.
            '@typescript-eslint/no-base-to-string': 'off',
            '@typescript-eslint/no-unnecessary-type-parameters': 'off',
        },
    },
]);
