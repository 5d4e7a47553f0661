// Package pages reads what the documents show: the commands that readers type,
// those that sentences name, and the shell blocks of a page. Tests of the
// programs ask it whether what is shown exists; the tutorial's test runs what it
// finds. It runs nothing itself. It also checks links, blocks and the navigation of
// all documents, as the build of the docs site would, with the site's parser.
//
// A command to type stands in a fenced block without a language or in sh, or is
// indented by four spaces. A command that is named stands in backquotes, without
// arguments perhaps. Blocks of docs/adr and docs/flows are drawings, not commands.
package pages

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Command is a command line that a page shows.
type Command struct {
	// Page is the file below the root, Line its line there, from 1.
	Page string
	Line int
	// Words are what follows the program's name, as a shell splits it.
	Words []string
	// Named says that a sentence names the command: its arguments, and values
	// of its flags, may be left out.
	Named bool
}

// Block is a fenced block.
type Block struct {
	// Line is that of the fence, from 1.
	Line int
	Text string
}

// other are pages outside of docs that show commands.
var other = []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md"}

// All returns every page of the documents below the root of the repository.
func All(root string) ([]string, error) {
	all := append([]string{}, other...)
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && elsewhere[d.Name()] {
			return filepath.SkipDir
		}
		if !d.IsDir() && strings.HasSuffix(path, ".md") {
			rel, err := filepath.Rel(root, path)
			all = append(all, filepath.ToSlash(rel))
			return err
		}
		return nil
	})
	return all, err
}

// Commands returns the commands of a program on all pages.
func Commands(root, program string) ([]Command, error) {
	all, err := All(root)
	if err != nil {
		return nil, err
	}
	var found []Command
	for _, page := range all {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			return nil, err
		}
		drawings := strings.HasPrefix(page, "docs/adr/") || strings.HasPrefix(page, "docs/flows/")
		for _, c := range commands(string(text), program) {
			if c.Named || !drawings {
				c.Page = page
				found = append(found, c)
			}
		}
	}
	return found, nil
}

// Script returns the blocks of a page that are marked as sh, in order.
func Script(page string) ([]Block, error) { return Blocks(page, "sh") }

// Blocks returns the blocks of a page that are marked with a language, in order.
func Blocks(page, language string) ([]Block, error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	var blocks []Block
	inside := false
	for _, l := range linesOf(string(text)) {
		switch {
		case l.fence && inside:
			inside = false
		case l.fence:
			if inside = l.language == language; inside {
				blocks = append(blocks, Block{Line: l.number})
			}
		case inside:
			blocks[len(blocks)-1].Text += strings.TrimPrefix(l.text, l.indent) + "\n"
		}
	}
	return blocks, nil
}

// line is a line of a page.
type line struct {
	number int
	text   string
	// fence opens or closes a block; language is that of the block that the line
	// opens or is in, indent what stands before its fence.
	fence            bool
	block            bool
	language, indent string
}

var fence = regexp.MustCompile("^( *)```+ *([a-z]*)")

func linesOf(text string) (all []line) {
	open := false
	language, indent := "", ""
	number := 0
	for raw := range strings.Lines(text) {
		number++
		l := line{number: number, text: strings.TrimRight(raw, "\r\n")}
		if m := fence.FindStringSubmatch(l.text); m != nil {
			l.fence = true
			if open = !open; open {
				indent, language = m[1], m[2]
			}
		} else {
			l.block = open
		}
		l.language, l.indent = language, indent
		all = append(all, l)
	}
	return all
}

var span = regexp.MustCompile("`([^`]+)`")

// placeholder marks what is no command: `axle <noun> <verb>`.
var placeholder = regexp.MustCompile(`[<>]|\\n`)

func commands(text, program string) (found []Command) {
	var joined string
	began := 0
	for _, l := range linesOf(text) {
		switch {
		case l.fence:
		case l.block && l.language != "" && l.language != "sh":
		case l.block, strings.HasPrefix(l.text, "    "):
			if joined == "" {
				began = l.number
			}
			joined += l.text
			if cut, ok := strings.CutSuffix(joined, "\\"); ok {
				joined = cut
				continue
			}
			for _, simple := range split(joined) {
				if simple[0] == program || simple[0] == "bin/"+program {
					found = append(found, Command{Line: began, Words: simple[1:]})
				}
			}
			joined = ""
		default:
			for _, m := range span.FindAllStringSubmatch(l.text, -1) {
				shown := strings.ReplaceAll(m[1], `\|`, "|") // of a table
				rest, ok := strings.CutPrefix(shown, program+" ")
				if ok && !placeholder.MatchString(rest) {
					found = append(found, Command{Line: l.number, Words: Words(rest), Named: true})
				}
			}
		}
	}
	return found
}

// before may stand before the name of a program.
var before = map[string]bool{"$": true, "until": true, "while": true, "if": true, "!": true, "do": true, "then": true, "{": true}

// split takes a line apart into simple commands, each with one word at least.
func split(text string) (all [][]string) {
	for _, words := range shell(text) {
		for len(words) > 0 && before[words[0]] {
			words = words[1:]
		}
		if len(words) > 0 {
			all = append(all, words)
		}
	}
	return all
}

// Words takes a line apart as a shell would, up to where its first command ends.
func Words(text string) []string {
	if all := shell(text); len(all) > 0 {
		return all[0]
	}
	return nil
}

// shell knows quotes, comments, what ends a command and where output goes. The
// rest of a shell it does not know.
func shell(text string) (all [][]string) {
	var words []string
	var word strings.Builder
	var quote rune
	in, redirect := false, false
	endWord := func() {
		if in && !redirect {
			words = append(words, word.String())
		}
		if in {
			redirect = false
		}
		word.Reset()
		in = false
	}
	endCommand := func() {
		endWord()
		redirect = false
		if len(words) > 0 {
			all = append(all, words)
		}
		words = nil
	}
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, in = r, true
		case r == ' ' || r == '\t' || r == '\n':
			endWord()
		case r == '#' && !in:
			endCommand()
			return all
		case r == '|' || r == ';' || r == '&' && !redirect:
			endCommand()
		case r == '>' || r == '<':
			if d := word.String(); d == "1" || d == "2" {
				word.Reset() // the number of a stream
				in = false
			}
			endWord()
			redirect = true
		default:
			word.WriteRune(r)
			in = true
		}
	}
	endCommand()
	return all
}
