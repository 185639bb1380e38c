// A document as React elements. What has no element here, such as HTML, is shown as the text that it is.

import { Link } from '@tanstack/react-router';
import type { Token, Tokens } from 'marked';
import { Fragment, type ReactNode } from 'react';

import { Copy } from '../../shared/ui/Copy';
import { targetOf } from './documents';
import styles from './Document.module.css';
import { type Parsed, plainText } from './markdown';
import { words } from './words';

type Anchors = Parsed['anchorOf'];

export const Markdown = ({ document: { tokens, anchorOf } }: { document: Parsed }) => (
    <Blocks tokens={tokens} anchors={anchorOf} />
);

const Blocks = ({ tokens, anchors }: { tokens: readonly Token[]; anchors: Anchors }) =>
    tokens.map((token, index) => <Block key={index} token={token} anchors={anchors} />);

function Block({ token, anchors }: { token: Token; anchors: Anchors }): ReactNode {
    switch (token.type) {
        case 'space':
        case 'def':
            return null;
        case 'heading':
            return <Heading token={token as Tokens.Heading} anchor={anchors.get(token)} />;
        case 'paragraph':
            return <p>{inline(token.tokens)}</p>;
        case 'code':
            return <CodeBlock text={(token as Tokens.Code).text} />;
        case 'list':
            return <List token={token as Tokens.List} anchors={anchors} />;
        case 'table':
            return <Table token={token as Tokens.Table} />;
        case 'blockquote':
            return (
                <blockquote className={styles.quote}>
                    <Blocks tokens={token.tokens ?? []} anchors={anchors} />
                </blockquote>
            );
        case 'hr':
            return <hr />;
        case 'text':
            return <>{inline('tokens' in token && token.tokens ? token.tokens : [token])}</>;
        default:
            return <p>{token.raw}</p>;
    }
}

function Heading({ token, anchor = '' }: { token: Tokens.Heading; anchor: string | undefined }) {
    const Element = token.depth <= 2 ? 'h2' : token.depth === 3 ? 'h3' : 'h4';
    return (
        <Element id={anchor} className={styles.heading}>
            {inline(token.tokens)}
            <a href={`#${anchor}`} className={styles.anchor} aria-label={words.linkTo(plainText(token.tokens))}>
                #
            </a>
        </Element>
    );
}

const CodeBlock = ({ text }: { text: string }) => (
    <div className={styles.code}>
        <pre tabIndex={0} role="group" aria-label={words.code}>
            {text}
        </pre>
        <Copy text={text} what={words.copyCode} />
    </div>
);

function List({ token: { ordered, items, start }, anchors }: { token: Tokens.List; anchors: Anchors }) {
    const entries = items.map((item, index) => (
        <li key={index}>
            <Blocks tokens={item.tokens} anchors={anchors} />
        </li>
    ));
    return ordered ? (
        <ol className={styles.ordered} start={typeof start === 'number' ? start : 1}>
            {entries}
        </ol>
    ) : (
        <ul className={styles.list}>{entries}</ul>
    );
}

const Table = ({ token: { header, rows } }: { token: Tokens.Table }) => (
    <div className={styles.scroll} tabIndex={0} role="group" aria-label={words.table}>
        <table className={styles.table}>
            <thead>
                <tr>
                    {header.map((cell, index) => (
                        <th key={index} scope="col">
                            {inline(cell.tokens)}
                        </th>
                    ))}
                </tr>
            </thead>
            <tbody>
                {rows.map((row, index) => (
                    <tr key={index}>
                        {row.map((cell, column) => (
                            <td key={column}>{inline(cell.tokens)}</td>
                        ))}
                    </tr>
                ))}
            </tbody>
        </table>
    </div>
);

const inline = (tokens: readonly Token[] | undefined): ReactNode =>
    (tokens ?? []).map((token, index) => <Fragment key={index}>{piece(token)}</Fragment>);

function piece(token: Token): ReactNode {
    switch (token.type) {
        case 'strong':
            return <strong>{inline(token.tokens)}</strong>;
        case 'em':
            return <em>{inline(token.tokens)}</em>;
        case 'codespan':
            return <code>{(token as Tokens.Codespan).text}</code>;
        case 'br':
            return <br />;
        case 'link':
            return <Anchor token={token as Tokens.Link} />;
        case 'text':
        case 'escape':
            return 'tokens' in token && token.tokens ? inline(token.tokens) : (token as Tokens.Text).text;
        default:
            return token.raw;
    }
}

/** A file that is in the repository alone has its name, and no link. */
function Anchor({ token: { href, tokens } }: { token: Tokens.Link }) {
    const target = targetOf(href);
    const text = inline(tokens);
    switch (target?.kind) {
        case 'document':
            return (
                <Link to="/docs/$document" params={{ document: target.id }} hash={target.hash}>
                    {text}
                </Link>
            );
        case 'api':
            return <Link to="/docs/api">{text}</Link>;
        case 'here':
            return <a href={`#${target.hash}`}>{text}</a>;
        case 'elsewhere':
            return (
                <a href={target.url} target="_blank" rel="noreferrer">
                    {text}
                </a>
            );
        default:
            return text;
    }
}
