-- Neovim's own client drives `expc lsp` through an afternoon's work on study.exp. Run by neovim_test.py.

local steps = 0

local function fail(message)
  io.stderr:write('FAILED: ' .. message .. '\n')
  vim.cmd('cquit 1')
end

local function check(value, message)
  steps = steps + 1
  if not value then fail(message) end
end

local function wait(message, condition)
  steps = steps + 1
  if not vim.wait(30000, condition, 20) then
    fail('waited in vain: ' .. message .. ' ' .. vim.inspect(vim.diagnostic.get()))
  end
end

local function contains(text, part) return text:find(part, 1, true) ~= nil end

local function line_with(part, buffer)
  for number, line in ipairs(vim.api.nvim_buf_get_lines(buffer or 0, 0, -1, false)) do
    local column = line:find(part, 1, true)
    if column then return number, column - 1 end
  end
  fail('no line with ' .. part)
end

local function go_to(part, offset)
  local line, column = line_with(part)
  vim.api.nvim_win_set_cursor(0, { line, column + (offset or 0) })
end

local function replace(old, new)
  local line, column = line_with(old)
  vim.api.nvim_buf_set_text(0, line - 1, column, line - 1, column + #old, { new })
end

local function request(method, params)
  local answers, err = vim.lsp.buf_request_sync(0, method, params or vim.lsp.util.make_position_params(), 60000)
  if not answers then fail(method .. ': ' .. tostring(err)) end
  for _, answer in pairs(answers) do
    if answer.err then fail(method .. ': ' .. vim.inspect(answer.err)) end
    return answer.result
  end
end

local function codes()
  local found = {}
  for _, diagnostic in ipairs(vim.diagnostic.get(0)) do table.insert(found, diagnostic.code or diagnostic.user_data.lsp.code) end
  return table.concat(found, ' ')
end

local function main()
  vim.cmd('edit study.exp')
  local study = vim.api.nvim_get_current_buf()
  local id = vim.lsp.start_client({ name = 'expc', cmd = { vim.env.EXPC, 'lsp' }, root_dir = vim.fn.getcwd() })
  check(id, 'the server does not start')
  vim.lsp.buf_attach_client(study, id)
  local client = vim.lsp.get_client_by_id(id)
  wait('initialize', function() return client.initialized end)
  check(client.server_capabilities.hoverProvider or client.resolved_capabilities.hover, 'no hover')

  -- A good study has no diagnostics; a mistake shows while it is typed and goes when it is mended by the code action.
  replace('ratio(wall)', 'ratio(wal)')
  wait('E0201', function() return contains(codes(), 'E0201') end)
  go_to('ratio(wal)', 7)
  local diagnostic = vim.diagnostic.get(study)[1]
  check(diagnostic.severity == vim.diagnostic.severity.ERROR, 'its severity')
  local params = vim.lsp.util.make_range_params()
  params.context = { diagnostics = vim.lsp.diagnostic.get_line_diagnostics() }
  local actions = request('textDocument/codeAction', params)
  check(actions[1].title == "Replace 'wal' by 'wall'", vim.inspect(actions))
  vim.lsp.util.apply_workspace_edit(actions[1].edit, client.offset_encoding)
  wait('no diagnostics', function() return codes() == '' end)
  check(line_with('ratio(wall)'), 'the mend')

  -- Hover, as :lua vim.lsp.buf.hover() shows it.
  go_to('study cost', 6)
  check(contains(request('textDocument/hover').contents.value, '9 of 12 combinations'), 'hover on the study')
  vim.lsp.buf.hover()
  wait('a window with the hover', function()
    for _, window in ipairs(vim.api.nvim_list_wins()) do
      local text = table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false), '\n')
      if vim.api.nvim_win_get_config(window).relative ~= '' and contains(text, 'Does tuning cost time?') then return true end
    end
  end)

  -- Completion through omnifunc, on a statement that is half typed.
  vim.bo.omnifunc = 'v:lua.vim.lsp.omnifunc'
  go_to('baseline none', 0)
  replace('baseline none', 'baseline ')
  local line = line_with('factor method')
  vim.api.nvim_win_set_cursor(0, { line, #vim.api.nvim_get_current_line() - 1 })
  local items = vim.lsp.util.extract_completion_items(request('textDocument/completion',
    { textDocument = vim.lsp.util.make_text_document_params(),
      position = { line = line - 1, character = #vim.api.nvim_buf_get_lines(0, line - 1, line, false)[1] } }))
  local labels = {}
  for _, item in ipairs(items) do labels[item.label] = true end
  check(labels.none and labels.lora and not labels.gpus, vim.inspect(items))
  vim.api.nvim_buf_set_text(0, line - 1, #vim.api.nvim_get_current_line(), line - 1, #vim.api.nvim_get_current_line(), { 'none' })
  wait('no diagnostics', function() return codes() == '' end)

  -- Definition: into the file that is imported, and into a built-in module.
  go_to('jobs.train', 6)
  vim.lsp.buf.definition()
  wait('jobs.exp', function() return vim.fn.expand('%:t') == 'jobs.exp' end)
  check(contains(vim.api.nvim_get_current_line(), 'workload train'), 'the definition')

  -- What is changed in the import, unsaved, counts in the study.
  vim.lsp.buf_attach_client(0, id)
  replace('metric wall', 'metric time')
  wait('an error in the importer', function() return #vim.diagnostic.get(study) > 0 end)
  replace('metric time', 'metric wall')
  wait('none in the importer', function() return #vim.diagnostic.get(study) == 0 end)
  vim.cmd('buffer! ' .. study)
  go_to('std.image', 5)
  vim.lsp.buf.definition()
  wait('image.exp', function() return vim.fn.expand('%:t') == 'image.exp' end)
  check(line_with('workload mobilenet_v2'), 'the module')
  vim.cmd('buffer! ' .. study)

  -- References and renaming.
  go_to('compare slower', 9)
  local found = request('textDocument/references', vim.tbl_extend('force', vim.lsp.util.make_position_params(),
    { context = { includeDeclaration = true } }))
  check(#found == 3, vim.inspect(found))
  vim.lsp.buf.rename('costlier')
  wait('the new name', function()
    local text = table.concat(vim.api.nvim_buf_get_lines(study, 0, -1, false), '\n')
    return contains(text, 'table costlier') and contains(text, 'costlier[method = lora]') and not contains(text, 'slower')
  end)
  wait('no diagnostics', function() return codes() == '' end)

  -- Formatting.
  replace('compare costlier', 'compare      costlier')
  if vim.lsp.buf.format then vim.lsp.buf.format({ timeout_ms = 60000 }) else vim.lsp.buf.formatting_sync(nil, 60000) end
  check(line_with('compare costlier = '), 'the format')
  wait('no diagnostics', function() return codes() == '' end)

  -- Symbols.
  local symbols = request('textDocument/documentSymbol', { textDocument = vim.lsp.util.make_text_document_params() })
  check(symbols[1].name == 'cost' and #symbols[1].children > 5, vim.inspect(symbols))

  vim.lsp.stop_client(id)
  wait('the end of the server', function() return client.is_stopped() end)
  io.stdout:write(steps .. ' checks: all steps passed\n')
end

local good, message = xpcall(main, debug.traceback)
if not good then fail(message) end
vim.cmd('qall!')
