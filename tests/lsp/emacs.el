;;; Eglot drives `expc lsp` through the steps of docs/editors.md on study.exp: emacs --batch -Q -l emacs.el, by emacs_test.py.  -*- lexical-binding: t -*-

(when (locate-library "package") (require 'package) (package-initialize)) ; Debian 12 has Eglot as a package of its own
(require 'eglot)
(require 'flymake)

(defmacro wait (what condition)
  "Waits until CONDITION holds, and fails with WHAT."
  `(let ((turns 1500))
     (while (and (> turns 0) (not ,condition)) (setq turns (1- turns)) (accept-process-output nil 0.02) (sit-for 0.001))
     (unless ,condition (error "waited in vain: %s" ,what))))
(defun told () (flymake-start) (mapconcat #'flymake-diagnostic-text (flymake-diagnostics) "\n"))
(defun go-to (part) (goto-char (point-min)) (search-forward part))
(defun write-instead (old new) (go-to old) (replace-match new t t) (eglot--signal-textDocument/didChange))

;; The lines of docs/editors.md, which emacs_test.py hands over; the hook waits for a screen, so the connection is made by hand.
(eval (car (read-from-string (format "(progn %s)" (getenv "LINES_OF_THE_PAGE")))) t)
(setq exp-mode-hook nil eglot-sync-connect 30 eglot-confirm-server-initiated-edits nil)
(find-file "study.exp")
(unless (eq major-mode 'exp-mode) (error "study.exp is of %s" major-mode))
(apply #'eglot--connect (eglot--guess-contact))
(wait "a server" (eglot-managed-p))
(setq eglot-confirm-server-edits nil)

(write-instead "factor gpus" "factor gpu")
(wait "a diagnostic" (string-match-p "gpu" (told)))
(write-instead "factor gpu " "factor gpus ")
(wait "no diagnostic" (string-empty-p (told)))
(go-to "factor met")
(unless (string-match-p "method" (format "%s" (jsonrpc-request (eglot--current-server-or-lose) :textDocument/hover (eglot--TextDocumentPositionParams))))
  (error "no hover"))
(go-to "factor gpu")
(let ((found (eglot-completion-at-point)))
  (unless (member "gpus" (all-completions "gpu" (nth 2 found))) (error "gpus is not proposed: %s" found)))
(go-to "let mos")
(eglot-rename "largest")
(unless (string-match-p "let largest" (buffer-string)) (error "not renamed:\n%s" (buffer-string)))
(write-instead "let largest = 4" "let   largest=4")
(eglot-format-buffer)
(unless (string-match-p "let largest = 4" (buffer-string)) (error "not formatted:\n%s" (buffer-string)))
(set-buffer-modified-p nil)
(message "%s, Eglot %s: all steps passed" (emacs-version) (if (boundp 'eglot--version) eglot--version "?"))
(kill-emacs 0)
