package conformance

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Section is a part of a list: its heading and the tests below it.
type Section struct {
	Heading string
	Tests   []string
}

// The headings of passes.txt name what runs the pods of the tests below.
const (
	HeadingKwok      = "pods are played by kwok, which calls them ready and runs nothing"
	HeadingProcesses = "pods run as processes of the machine, by the process kubelet"
)

// Lists are the expected results of the tests.
type Lists struct {
	Passes []Section
	// Skips are the tests that do not pass, below the reason.
	Skips []Section
}

// ReadLists reads passes.txt and skips.txt of a checkout.
func ReadLists(root string) (l Lists, err error) {
	dir := filepath.Join(root, "test", "conformance")
	if l.Passes, err = readList(filepath.Join(dir, "passes.txt")); err != nil {
		return l, err
	}
	for _, s := range l.Passes {
		if s.Heading != HeadingKwok && s.Heading != HeadingProcesses {
			return l, fmt.Errorf("passes.txt: no such heading: %s", s.Heading)
		}
	}
	l.Skips, err = readList(filepath.Join(dir, "skips.txt"))
	return l, err
}

// readList reads lines of names, each section below a line "# heading".
func readList(path string) ([]Section, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var sections []Section
	lines := bufio.NewScanner(file)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		heading, isHeading := strings.CutPrefix(line, "# ")
		switch {
		case line == "":
		case isHeading:
			sections = append(sections, Section{Heading: heading})
		case len(sections) == 0:
			return nil, fmt.Errorf("%s:%d: a test before the first heading", path, number)
		default:
			last := &sections[len(sections)-1]
			last.Tests = append(last.Tests, line)
		}
	}
	return sections, lines.Err()
}

// Check reports tests that are in no list, or in two, and names that the suite does
// not have.
func (l Lists) Check(suite []string) error {
	count := map[string]int{}
	for _, s := range slices.Concat(l.Passes, l.Skips) {
		if s.Heading == "" {
			return fmt.Errorf("a section has no heading")
		}
		for _, name := range s.Tests {
			count[name]++
		}
	}
	var wrong []string
	for _, name := range suite {
		switch count[name] {
		case 0:
			wrong = append(wrong, "in no list: "+name)
		case 1:
		default:
			wrong = append(wrong, "listed twice: "+name)
		}
		delete(count, name)
	}
	for name := range count {
		wrong = append(wrong, "not in the suite: "+name)
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	return fmt.Errorf("the lists do not fit the suite:\n%s", strings.Join(wrong, "\n"))
}

// Names are the tests of all sections.
func Names(sections []Section) (names []string) {
	for _, s := range sections {
		names = append(names, s.Tests...)
	}
	return names
}
