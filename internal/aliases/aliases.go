// Package aliases bounds what a YAML text becomes: by its nodes, and by its aliases. An alias repeats what
// its anchor has, and a text of a megabyte can so become fifty gigabytes of JSON: parsers
// count the nodes that aliases add, and not how long their texts are.
//
// Who parses a text that somebody else wrote, in a process that others share, asks Check
// first. It parses nothing itself that has no aliases.
package aliases

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

const (
	// times is how much larger than itself the aliases of a text may make it.
	times = 4
	// least is what any text may become.
	least = 1 << 20
	// perNode is what a node takes besides its text.
	perNode = 4
	// maxNodes is how many nodes a text may have, aliases aside: a parser takes about 250
	// bytes for each, and two bytes of text are one. 4 MiB of YAML as people write it have
	// a quarter of that.
	maxNodes = 500_000
)

// Check returns an error for a text that its aliases make more than four times as large,
// and larger than 1 MiB, and for one of too many nodes. A text that is no YAML is left to who parses it.
func Check(text []byte) error {
	nodes := 0
	for _, end := range []byte("\n,[{") {
		nodes += bytes.Count(text, []byte{end})
	}
	if nodes > maxNodes {
		return fmt.Errorf("it has more than %d lines and elements; split it", maxNodes)
	}
	if bytes.IndexByte(text, '&') < 0 || bytes.IndexByte(text, '*') < 0 {
		return nil
	}
	most := max(times*len(text), least)
	s := sizes{most: most, of: map[*yaml.Node]int{}}
	total := 0
	for documents := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var root yaml.Node
		if documents.Decode(&root) != nil {
			return nil //nolint:nilerr // the end, or what the parser reports better
		}
		if total += s.size(&root); total > most {
			return fmt.Errorf("its aliases make the YAML larger than %d bytes; write it out, or use fewer aliases", most)
		}
	}
}

// sizes are those of nodes with what their aliases repeat; most stands for more.
type sizes struct {
	most int
	of   map[*yaml.Node]int
}

func (s *sizes) size(n *yaml.Node) int {
	if known, ok := s.of[n]; ok {
		return known
	}
	s.of[n] = s.most + 1 // for an alias within its own anchor
	total := perNode + len(n.Value)
	if n.Kind == yaml.AliasNode {
		total = s.size(n.Alias)
	}
	for _, child := range n.Content {
		if total += s.size(child); total > s.most {
			total = s.most + 1
			break
		}
	}
	s.of[n] = total
	return total
}
