package archtest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// hop matches how a flow page names code: path/file.go:Func or
// path/file.go:Type.Method.
var hop = regexp.MustCompile(`([a-z0-9_./-]+\.go):([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?)`)

// CheckFlows returns a sentence for each hop of docs/flows whose file or
// function does not exist, and for each page without any.
func CheckFlows(root string) ([]string, error) {
	pages, err := filepath.Glob(filepath.Join(root, "docs/flows/*.md"))
	if err != nil {
		return nil, err
	}
	var bad []string
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		name := "docs/flows/" + filepath.Base(page)
		hops := hop.FindAllStringSubmatch(string(text), -1)
		if len(hops) == 0 {
			bad = append(bad, name+": names no file.go:Function")
		}
		for _, h := range hops {
			if why := missing(root, h[1], h[2]); why != "" {
				bad = append(bad, fmt.Sprintf("%s: %s:%s %s", name, h[1], h[2], why))
			}
		}
	}
	return bad, nil
}

func missing(root, file, symbol string) string {
	code, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return "does not exist"
	}
	name := symbol
	receiver := ""
	if before, after, ok := strings.Cut(symbol, "."); ok {
		receiver, name = `\([A-Za-z_]* ?\*?`+before+`(\[[^\]]*\])?\) `, after
	} else {
		receiver = `(\([^)]*\) )?`
	}
	definition := regexp.MustCompile(`(?m)^(func ` + receiver + name + `[\[(]|type ` + name + `\b|var ` + name + `\b|const ` + name + `\b)`)
	if !definition.Match(code) {
		return "is not defined there"
	}
	return ""
}

// The marks around the policy text in ARCHITECTURE.md.
const (
	blockStart = "<!-- rules.txt, written by make generate -->\n```text\n"
	blockEnd   = "```\n<!-- end of rules.txt -->"
)

// Architecture returns ARCHITECTURE.md with its policy block replaced by rules.
func Architecture(page, rules string) (string, error) {
	before, rest, ok := strings.Cut(page, blockStart)
	_, after, ok2 := strings.Cut(rest, blockEnd)
	if !ok || !ok2 {
		return "", fmt.Errorf("ARCHITECTURE.md has no block for rules.txt")
	}
	return before + blockStart + rules + blockEnd + after, nil
}
