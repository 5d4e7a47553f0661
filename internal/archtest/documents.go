package archtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
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

// link matches a Markdown link to a path in the tree.
var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// fenced matches code in Markdown, where brackets are not links.
var fenced = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")

// CheckLinks returns a sentence for each relative link of a Markdown file whose file
// or heading does not exist.
func CheckLinks(root string) ([]string, error) {
	var bad []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (skipped[d.Name()] && d.Name() != "tools" || d.Name() == "public") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".md") {
			return nil
		}
		rel, _ := filepath.Rel(root, path)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, l := range link.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			if why := deadLink(path, l[1]); why != "" {
				bad = append(bad, fmt.Sprintf("%s: the link to %s %s", filepath.ToSlash(rel), l[1], why))
			}
		}
		return nil
	})
	return bad, err
}

func deadLink(from, to string) string {
	if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
		return ""
	}
	file, anchor, _ := strings.Cut(to, "#")
	target := from
	if file != "" {
		target = filepath.Join(filepath.Dir(from), file)
	}
	text, err := os.ReadFile(target)
	if anchor == "" {
		if _, err := os.Stat(target); err != nil {
			return "leads to no file"
		}
		return ""
	}
	if err != nil {
		return "leads to no file"
	}
	for line := range strings.Lines(string(text)) {
		if heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") && anchorOf(heading) == anchor {
			return ""
		}
	}
	return "leads to no heading"
}

// anchorOf returns the anchor of a heading: lower case, without punctuation, a hyphen
// for each space.
func anchorOf(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(heading)) {
		switch {
		case r == ' ' || r == '-':
			b.WriteByte('-')
		case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}
