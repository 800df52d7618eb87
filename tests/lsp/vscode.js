// VS Code's side of the extension, as far as the extension calls it: run by vscode_test.py. Each class keeps what it was made of, so that a
// step can ask for it; registered providers are called as VS Code calls them.
// usage: node vscode.js EXTENSION_FOLDER EXPC STUDY_FOLDER
'use strict';
const assert = require('assert');
const fs = require('fs');
const Module = require('module');
const path = require('path');
const url = require('url');

const [folder, expc, studies] = process.argv.slice(2);

class Position { constructor(line, character) { Object.assign(this, { line, character }); } }
class Range {
  constructor(...ends) {
    [this.start, this.end] = ends.length === 4 ? [new Position(ends[0], ends[1]), new Position(ends[2], ends[3])] : ends;
    for (const end of [this.start, this.end]) assert(Number.isInteger(end.line) && Number.isInteger(end.character));
  }
}
class Uri {
  constructor(text) { this.text = text; this.scheme = text.split(':')[0]; }
  static parse(text) { return new Uri(text); }
  toString() { return this.text; }
  get fsPath() { return url.fileURLToPath(this.text); }
}
const kept = (...names) => class { constructor(...values) { names.forEach((name, at) => { this[name] = values[at]; }); } };
class WorkspaceEdit { constructor() { this.changes = new Map(); } set(uri, edits) { this.changes.set(uri.toString(), edits); } }
const CodeActionKind = class {
  constructor(value) { this.value = value; }
  append(part) { return new CodeActionKind(this.value ? `${this.value}.${part}` : part); }
};
CodeActionKind.Empty = new CodeActionKind('');
CodeActionKind.QuickFix = new CodeActionKind('quickfix');
CodeActionKind.SourceFixAll = new CodeActionKind('source.fixAll');

class Document {
  constructor(file) {
    Object.assign(this, { uri: new Uri(url.pathToFileURL(file).href), languageId: 'exp', version: 1, text: fs.readFileSync(file, 'utf8') });
  }
  getText() { return this.text; }
  /// The place of a text in the document, `offset` behind its beginning.
  at(part, offset = 0) {
    const before = this.text.slice(0, this.text.indexOf(part) + offset);
    assert(this.text.includes(part), part);
    return new Position(before.split('\n').length - 1, before.length - before.lastIndexOf('\n') - 1);
  }
  replace(old, text) {
    const range = new Range(this.at(old), this.at(old, old.length));
    this.text = this.text.replace(old, text);
    ++this.version;
    events.onDidChangeTextDocument.forEach(hear => hear({ document: this, contentChanges: [{ range, text }] }));
  }
}

const events = {}, providers = {}, commands = {}, shown = new Map(), complaints = [];
const event = name => hear => { (events[name] = events[name] || []).push(hear); };
const documents = [new Document(path.join(studies, 'study.exp'))];
let program = expc;
const api = {
  Position, Range, Uri, WorkspaceEdit, CodeActionKind,
  Location: kept('uri', 'range'), MarkdownString: kept('value'), TextEdit: kept('range', 'newText'), Diagnostic: kept('range', 'message', 'severity'),
  DiagnosticRelatedInformation: kept('location', 'message'), CompletionItem: kept('label', 'kind'), SnippetString: kept('value'), Hover: kept('contents', 'range'),
  DocumentSymbol: kept('name', 'detail', 'kind', 'range', 'selectionRange'), DocumentHighlight: kept('range', 'kind'), CodeAction: kept('title', 'kind'),
  languages: {
    createDiagnosticCollection: () => ({ set: (uri, told) => shown.set(uri.toString(), told), clear: () => shown.clear() }),
  },
  workspace: {
    textDocuments: documents,
    getConfiguration: () => ({ get: () => program }),
    createFileSystemWatcher: () => ({ onDidCreate: event('created'), onDidChange: event('changed'), onDidDelete: event('deleted') }),
  },
  window: { showErrorMessage: async text => { complaints.push(text); } },
  commands: { registerCommand: (name, act) => { commands[name] = act; } },
};
for (const what of ['Hover', 'CompletionItem', 'Definition', 'Reference', 'DocumentHighlight', 'DocumentSymbol', 'Rename'])
  api.languages[`register${what}Provider`] = (selector, provider) => { providers[what] = provider; };
api.languages.registerDocumentFormattingEditProvider = (selector, provider) => { providers.Formatting = provider; };
api.languages.registerCodeActionsProvider = (selector, provider) => { providers.CodeActions = provider; };
for (const name of ['Open', 'Change', 'Save', 'Close']) api.workspace[`onDid${name}TextDocument`] = event(`onDid${name}TextDocument`);

const load = Module._load;
Module._load = (name, ...rest) => (name === 'vscode' ? api : load(name, ...rest));
const extension = require(path.join(folder, require(path.join(folder, 'package.json')).main));

const token = { isCancellationRequested: false, onCancellationRequested: () => {} };
async function until(what, condition) {
  for (let turn = 0; turn < 3000; ++turn) {
    if (condition()) return;
    await new Promise(done => setTimeout(done, 20));
  }
  throw new Error(`waited in vain for ${what}: ${JSON.stringify([...shown])}`);
}
const codes = document => (shown.get(document.uri.toString()) || []).map(one => (one.code.value || one.code)).join(' ');
const carriedOut = (text, edits) =>
  [...edits].sort((one, other) => other.range.start.line - one.range.start.line || other.range.start.character - one.range.start.character).reduce((now, edit) => {
    const starts = line => now.split('\n').slice(0, line).reduce((sum, one) => sum + one.length + 1, 0);
    return now.slice(0, starts(edit.range.start.line) + edit.range.start.character) + edit.newText + now.slice(starts(edit.range.end.line) + edit.range.end.character);
  }, text);

async function main() {
  const [study] = documents;
  await extension.activate({ subscriptions: [] });
  await until('the first diagnostics', () => shown.has(study.uri.toString()));
  assert.strictEqual(codes(study), '');

  study.replace('factor gpus', 'factor gpu');
  await until('a diagnostic while typing', () => codes(study).includes('E'));
  const actions = await providers.CodeActions.provideCodeActions(study, new Range(study.at('factor gpu'), study.at('factor gpu', 10)), {}, token);
  const mend = actions.find(one => one.isPreferred || one.kind.value === 'quickfix');
  assert(carriedOut(study.text, mend.edit.changes.get(study.uri.toString())).includes('factor gpus'), JSON.stringify(actions));
  assert(mend.diagnostics[0].message.includes('gpu'));
  study.replace('factor gpu ', 'factor gpus ');
  await until('no diagnostic', () => codes(study) === '');

  const hover = await providers.Hover.provideHover(study, study.at('factor method', 8), token);
  assert(hover.contents.value.includes('method'), hover.contents.value);
  const proposals = await providers.CompletionItem.provideCompletionItems(study, study.at('factor gpus', 7), token);
  assert(proposals.some(one => one.label === 'rank' && one.range), JSON.stringify(proposals.slice(0, 5)));
  const [declared] = await providers.Definition.provideDefinition(study, study.at('factor gpus', 8), token);
  assert(declared.uri.toString().endsWith('/jobs.exp'), declared.uri.toString());
  const [built] = await providers.Definition.provideDefinition(study, study.at('std.image', 5), token);
  assert(fs.readFileSync(built.uri.fsPath, 'utf8').includes('workload'), built.uri.toString());
  assert((await providers.Reference.provideReferences(study, study.at('factor gpus', 8), { includeDeclaration: true }, token)).length > 1);
  assert((await providers.DocumentHighlight.provideDocumentHighlights(study, study.at('factor gpus', 8), token)).length);
  assert((await providers.DocumentSymbol.provideDocumentSymbols(study, token)).some(one => one.name === 'cost' && one.children.length));
  const local = study.at('let most', 5);
  assert.strictEqual((await providers.Rename.prepareRename(study, local, token)).placeholder, 'most');
  const renamed = await providers.Rename.provideRenameEdits(study, local, 'largest', token);
  assert(carriedOut(study.text, renamed.changes.get(study.uri.toString())).includes('let largest'));
  await assert.rejects(providers.Rename.provideRenameEdits(study, local, 'not a name', token));

  study.replace('let most = 4', 'let   most=4');
  const edits = await providers.Formatting.provideDocumentFormattingEdits(study, {}, token);
  assert(carriedOut(study.text, edits).includes('let most = 4'));

  await commands['expc.restart']();
  await until('diagnostics of the second server', () => shown.has(study.uri.toString()));
  assert(await providers.Hover.provideHover(study, study.at('factor method', 8), token));
  events.onDidCloseTextDocument.forEach(hear => hear(study));
  await until('none of a document that was closed', () => codes(study) === '');
  await extension.deactivate();
  assert.deepStrictEqual(complaints, []);

  program = path.join(studies, 'no-such-expc');
  await commands['expc.restart']();
  await until('a word on a program that is not there', () => complaints.length);
  assert(complaints[0].includes('no-such-expc') && complaints[0].includes('expc.path'), complaints[0]);
  assert.strictEqual(await providers.Hover.provideHover(study, study.at('factor method', 8), token), undefined);
  console.log('all steps passed');
}

main().catch(error => {
  console.error(error);
  process.exit(1);
});
