package main

import (
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// scripts are the problems of the scripts of a folder's tests.
func scripts(dir string) (lines []string, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "testdata", "*.txtar"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		commands, _, _ := strings.Cut(string(text), "\n-- ")
		for _, problem := range script(strings.Split(commands, "\n")) {
			lines = append(lines, file+":"+problem)
		}
	}
	return lines, nil
}

// script follows the commands of a script. Each read whose output is compared, or whose
// success is, is an assertion; what is below testdata/ of test/e2e has the commands.
func script(lines []string) (problems []string) {
	w := &walker{end: hub}
	allowed := 0
	for i, line := range lines {
		if reason, ok := strings.CutPrefix(line, "#rest:"); ok && strings.TrimSpace(reason) != "" {
			allowed = i + 1
			continue
		}
		var bad *finding
		for _, e := range effectsOfLine(line) {
			bad = either(bad, w.do(e, token.Pos(i+1)))
		}
		if line == "rest" {
			w.last = nil
		}
		switch found := bad != nil && asserts(lines[i:]); {
		case found && (allowed == 0 || allowed != i):
			problems = append(problems, fmt.Sprintf("%d: %s", i+1, bad.text))
		case !found && allowed != 0 && allowed == i:
			problems = append(problems, fmt.Sprintf("%d: this comment allows nothing: take it out", i))
		}
	}
	return problems
}

// effectsOfLine is what a command does.
func effectsOfLine(line string) []effect {
	words := strings.Fields(strings.TrimPrefix(line, "! "))
	if len(words) < 2 {
		return nil
	}
	switch {
	case words[0] == "axle":
		return effectsOfCommand("axle", hub, words[1:])
	case words[0] == "kube":
		return effectsOfCommand("kubectl", kube, words[2:])
	case words[0] == "git" && words[1] == "commit" && slices.Contains(words, "main"):
		return []effect{{write, git}}
	case words[0] == "waitfor" && slices.Contains(words, "kube"):
		return []effect{{wait, kube}}
	case words[0] == "waitfor":
		return []effect{{wait, hub}}
	}
	return nil
}

// asserts reports whether the output of the first command is compared, or that there is
// an object.
func asserts(lines []string) bool {
	if slices.Contains(strings.Fields(lines[0]), "kube") && !strings.Contains(lines[0], " -o ") {
		return true
	}
	if len(lines) < 2 {
		return false
	}
	next := strings.TrimPrefix(lines[1], "! ")
	return strings.HasPrefix(next, "stdout ") || strings.HasPrefix(next, "stderr ") || strings.HasPrefix(next, "cmp ")
}
