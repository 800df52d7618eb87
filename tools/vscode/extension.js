// The client of `expc lsp` for VS Code: messages over the standard streams of the server, and each of its answers in VS Code's form.
// It uses nothing but VS Code and Node, so that the extension is packed without a network.
'use strict';

const { spawn } = require('child_process');
const vscode = require('vscode');

/// A server that runs: requests, notifications, and what becomes of them when it ends.
class Server {
  constructor(program, { published, ended }) {
    this.waiting = new Map(); // id: how its promise is settled
    this.last = 0;
    this.received = Buffer.alloc(0);
    this.published = published;
    this.process = spawn(program, ['lsp'], { stdio: ['pipe', 'pipe', 'pipe'] });
    let said = '';
    const end = why => {
      if (this.over) return;
      this.over = true;
      for (const { reject } of this.waiting.values()) reject(new Error('the language server has ended'));
      this.waiting.clear();
      if (!this.stopped) ended(why);
    };
    this.process.stdout.on('data', data => this.read(data));
    this.process.stderr.on('data', data => { said = (said + data).slice(-2000); });
    this.process.stdin.on('error', () => {}); // that it has gone is told by its end
    this.process.on('error', error => end(`${program} does not start: ${error.message}`));
    this.process.on('close', (code, signal) => end(`${program} lsp ended with ${signal || code}${said ? `: ${said.trim()}` : ''}`));
  }

  read(data) {
    this.received = Buffer.concat([this.received, data]);
    for (;;) {
      const header = this.received.indexOf('\r\n\r\n');
      if (header < 0) return;
      const length = Number(/Content-Length: *(\d+)/i.exec(this.received.toString('latin1', 0, header))[1]);
      const body = header + 4;
      if (this.received.length < body + length) return;
      const message = JSON.parse(this.received.toString('utf8', body, body + length));
      this.received = this.received.subarray(body + length);
      this.take(message);
    }
  }

  take(message) {
    const asked = this.waiting.get(message.id);
    if (asked && !message.method) {
      this.waiting.delete(message.id);
      if (message.error) asked.reject(new Error(message.error.message));
      else asked.resolve(message.result);
    } else if (message.method === 'textDocument/publishDiagnostics') {
      this.published(message.params);
    }
  }

  send(message) {
    if (this.over) return;
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
    this.process.stdin.write(Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]));
  }

  notify(method, params) {
    this.send({ method, params });
  }

  request(method, params, token) {
    if (this.over) return Promise.reject(new Error('the language server has ended'));
    const id = ++this.last;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      token?.onCancellationRequested(() => this.notify('$/cancelRequest', { id }));
      this.send({ id, method, params });
    });
  }

  async stop() {
    this.stopped = true;
    if (this.over) return;
    await this.request('shutdown', null).catch(() => {});
    this.notify('exit', null);
    this.process.stdin.end();
  }
}

// ---- the protocol's forms and VS Code's. The protocol counts kinds from 1, VS Code from 0.

const place = position => ({ line: position.line, character: position.character });
const range = ends => new vscode.Range(ends.start.line, ends.start.character, ends.end.line, ends.end.character);
const location = found => new vscode.Location(vscode.Uri.parse(found.uri), range(found.range));
const markdown = text => new vscode.MarkdownString(text);
const edit = change => new vscode.TextEdit(range(change.range), change.newText);

function diagnostic(told) {
  const made = new vscode.Diagnostic(range(told.range), told.message, told.severity - 1);
  made.source = told.source;
  made.code = told.codeDescription ? { value: told.code, target: vscode.Uri.parse(told.codeDescription.href) } : told.code;
  made.tags = told.tags;
  made.relatedInformation = (told.relatedInformation || []).map(one => new vscode.DiagnosticRelatedInformation(location(one.location), one.message));
  return made;
}

function workspaceEdit(told) {
  const made = new vscode.WorkspaceEdit();
  for (const [uri, changes] of Object.entries(told.changes)) made.set(vscode.Uri.parse(uri), changes.map(edit));
  return made;
}

function proposal(told) {
  const made = new vscode.CompletionItem(told.label, told.kind - 1);
  made.range = range(told.textEdit.range);
  made.insertText = told.insertTextFormat === 2 ? new vscode.SnippetString(told.textEdit.newText) : told.textEdit.newText;
  made.detail = told.detail;
  if (told.documentation) made.documentation = markdown(told.documentation.value);
  return made;
}

function symbol(told) {
  const made = new vscode.DocumentSymbol(told.name, told.detail || '', told.kind - 1, range(told.range), range(told.selectionRange));
  made.children = (told.children || []).map(symbol);
  return made;
}

function action(told) {
  const made = new vscode.CodeAction(told.title, vscode.CodeActionKind.Empty.append(told.kind));
  made.edit = workspaceEdit(told.edit);
  made.isPreferred = told.isPreferred;
  made.diagnostics = (told.diagnostics || []).map(diagnostic);
  return made;
}

const list = (answer, make) => (Array.isArray(answer) ? answer : answer ? answer.items || [answer] : []).map(make);

// ---- what VS Code is given

const LANGUAGE = 'exp';
const ours = document => document.languageId === LANGUAGE && document.uri.scheme === 'file';

let server; // the one that runs, after it has answered `initialize`
let shown; // the diagnostics that are shown

function open(document) {
  if (server && ours(document))
    server.notify('textDocument/didOpen', { textDocument: { uri: document.uri.toString(), languageId: LANGUAGE, version: document.version, text: document.getText() } });
}

async function start() {
  const program = vscode.workspace.getConfiguration('expc').get('path') || 'expc';
  const started = new Server(program, {
    published: told => shown.set(vscode.Uri.parse(told.uri), told.diagnostics.map(diagnostic)),
    ended: async why => {
      if (server === started) server = undefined;
      shown.clear();
      const answer = await vscode.window.showErrorMessage(`expc: ${why}. The setting expc.path names the program.`, 'Start again');
      if (answer) start();
    },
  });
  const capabilities = {
    general: { positionEncodings: ['utf-16'] },
    textDocument: { completion: { completionItem: { snippetSupport: true } } },
  };
  try {
    await started.request('initialize', { processId: process.pid, rootUri: null, capabilities });
  } catch {
    return; // `ended` has told why
  }
  server = started;
  server.notify('initialized', {});
  vscode.workspace.textDocuments.forEach(open);
}

async function stop() {
  const running = server;
  server = undefined;
  if (shown) shown.clear();
  if (running) await running.stop();
}

/// Asks about a document; `make` turns the answer into VS Code's form, and is not called without one.
async function ask(method, document, more, token, make) {
  if (!server) return undefined;
  try {
    const answer = await server.request(`textDocument/${method}`, { textDocument: { uri: document.uri.toString() }, ...more }, token);
    return answer ? make(answer) : undefined;
  } catch (error) {
    if (token.isCancellationRequested) return undefined;
    throw error;
  }
}

function register() {
  const selector = { language: LANGUAGE, scheme: 'file' };
  const languages = vscode.languages;
  return [
    languages.registerHoverProvider(selector, {
      provideHover: (document, position, token) =>
        ask('hover', document, { position: place(position) }, token, told => new vscode.Hover(markdown(told.contents.value), told.range && range(told.range))),
    }),
    languages.registerCompletionItemProvider(
      selector,
      { provideCompletionItems: (document, position, token) => ask('completion', document, { position: place(position) }, token, told => list(told, proposal)) },
      '.', '{', '(', '[', ',', '='
    ),
    languages.registerDefinitionProvider(selector, {
      provideDefinition: (document, position, token) => ask('definition', document, { position: place(position) }, token, told => list(told, location)),
    }),
    languages.registerReferenceProvider(selector, {
      provideReferences: (document, position, context, token) => ask('references', document, { position: place(position), context }, token, told => list(told, location)),
    }),
    languages.registerDocumentHighlightProvider(selector, {
      provideDocumentHighlights: (document, position, token) =>
        ask('documentHighlight', document, { position: place(position) }, token, told => list(told, one => new vscode.DocumentHighlight(range(one.range), one.kind - 1))),
    }),
    languages.registerDocumentSymbolProvider(selector, {
      provideDocumentSymbols: (document, token) => ask('documentSymbol', document, {}, token, told => list(told, symbol)),
    }),
    languages.registerDocumentFormattingEditProvider(selector, {
      provideDocumentFormattingEdits: (document, options, token) => ask('formatting', document, { options }, token, told => list(told, edit)),
    }),
    languages.registerRenameProvider(selector, {
      prepareRename: (document, position, token) =>
        ask('prepareRename', document, { position: place(position) }, token, told => ({ range: range(told.range), placeholder: told.placeholder })),
      provideRenameEdits: (document, position, newName, token) => ask('rename', document, { position: place(position), newName }, token, workspaceEdit),
    }),
    languages.registerCodeActionsProvider(
      selector,
      {
        provideCodeActions: (document, where, context, token) =>
          ask(
            'codeAction', document,
            { range: { start: place(where.start), end: place(where.end) }, context: { diagnostics: [], only: context.only ? [context.only.value] : undefined } },
            token, told => list(told, action)
          ),
      },
      { providedCodeActionKinds: [vscode.CodeActionKind.QuickFix, vscode.CodeActionKind.SourceFixAll] }
    ),
  ];
}

async function activate(context) {
  shown = vscode.languages.createDiagnosticCollection('expc');
  const files = vscode.workspace.createFileSystemWatcher('**/*.exp'); // what is imported may change without being open
  const changed = type => uri => server && server.notify('workspace/didChangeWatchedFiles', { changes: [{ uri: uri.toString(), type }] });
  files.onDidCreate(changed(1));
  files.onDidChange(changed(2));
  files.onDidDelete(changed(3));
  const of = document => ({ textDocument: { uri: document.uri.toString() } });
  context.subscriptions.push(
    shown,
    files,
    ...register(),
    vscode.workspace.onDidOpenTextDocument(open),
    vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      if (!server || !ours(document) || !contentChanges.length) return;
      server.notify('textDocument/didChange', {
        textDocument: { uri: document.uri.toString(), version: document.version },
        contentChanges: contentChanges.map(one => ({ range: { start: place(one.range.start), end: place(one.range.end) }, text: one.text })),
      });
    }),
    vscode.workspace.onDidSaveTextDocument(document => server && ours(document) && server.notify('textDocument/didSave', of(document))),
    vscode.workspace.onDidCloseTextDocument(document => server && ours(document) && server.notify('textDocument/didClose', of(document))),
    vscode.commands.registerCommand('expc.restart', async () => {
      await stop();
      await start();
    })
  );
  await start();
}

module.exports = { activate, deactivate: stop };
