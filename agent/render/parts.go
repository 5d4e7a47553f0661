package render

import (
	"crypto/sha256"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	renderv1 "github.com/axle-cd/axle/api/render/v1"
	"github.com/axle-cd/axle/internal/errcode"
)

// Part is one unpacked tree of a service with several parts.
type Part struct {
	// Name is the field of the service's spec that names the source.
	Name string
	// Dir holds the unpacked tree.
	Dir string
	// Path is the position of its files below the service's folder; empty is the
	// folder itself.
	Path string
	// Entry is the folder inside Dir that is placed there; files outside it can be
	// referred to.
	Entry string
}

const (
	// hiddenParts holds the complete trees of parts whose files may refer to others
	// outside their folder: such a tree cannot be at the part's path without writing
	// outside it. Hidden folders are not rendered as manifests.
	hiddenParts = ".axle-parts"
	// chartPath is where the hub puts a chart beside other files.
	chartPath = ".helm-chart"
)

// layout says where the trees of a pass are placed among its files.
type layout struct {
	// base is the service's folder.
	base   string
	mounts []*mount
	// parts is false for a service with a single tree.
	parts bool
}

// mount is one tree. Its files are at at. If the tree is hidden, those below its
// part's entry appear as links at shown.
type mount struct {
	part   Part
	at     string
	hidden bool
	shown  string
	// mixed: another part has files where this one is shown.
	mixed bool
}

// layoutOf puts the first part at the root of the files if the service's folder is
// its own, so that its references to outside work as they do upstream. The other
// parts are at their paths below that folder.
func layoutOf(p Pass) layout {
	if len(p.Parts) == 0 {
		return layout{base: p.Entry, mounts: []*mount{{part: Part{Dir: p.Folder}}}}
	}
	l := layout{parts: true}
	for i, part := range p.Parts {
		m := &mount{part: part}
		switch {
		case i == 0 && part.Path == "":
			l.base = part.Entry
		case part.Entry == "":
			m.at = path.Join(l.base, part.Path)
		default:
			m.hidden, m.at, m.shown = true, path.Join(hiddenParts, strconv.Itoa(i)), path.Join(l.base, part.Path)
		}
		l.mounts = append(l.mounts, m)
	}
	return l
}

// seenAt returns where a file of a hidden tree is shown.
func (m *mount) seenAt(name string) (string, bool) {
	if !m.hidden {
		return "", false
	}
	rest, inside := strings.CutPrefix(name, m.part.Entry+"/")
	return path.Join(m.shown, rest), inside
}

// real returns where a renderer's folder is in a hidden tree, so that its references
// work; empty if it is at its path.
func (l layout) real(step string) string {
	at := path.Join(l.base, step)
	for _, m := range l.mounts {
		if !m.hidden || m.mixed {
			continue
		}
		if rest, inside := strings.CutPrefix(at+"/", m.shown+"/"); inside || m.shown == "." || m.shown == "" {
			return path.Join(m.at, m.part.Entry, rest)
		}
	}
	return ""
}

// taking records which part has which file.
type taking struct {
	mounts []*mount
	files  map[string]owner
	// folders are all folders above files, by the first part that has them.
	folders map[string]int
}

// owner is a part's claim to a path.
type owner struct {
	mount int
	path  string
	sum   [sha256.Size]byte
}

func newTaken(mounts []*mount) *taking {
	return &taking{mounts: mounts, files: map[string]owner{}, folders: map[string]int{}}
}

// take records that a part has a file. again: another part has the same file with the
// same content, which is sent once.
func (t *taking) take(file *renderv1.File, mount int) (again bool, err error) {
	return t.takeAs(file.GetPath(), file, mount)
}

// takeAs is take for a file that is shown at another path. Names that differ only in
// case collide, as they do inside one tree.
func (t *taking) takeAs(name string, file *renderv1.File, mount int) (again bool, err error) {
	if err := t.keepOut(name, mount); err != nil {
		return false, err
	}
	key := strings.ToLower(name)
	sum := sumOf(file)
	if first, ok := t.files[key]; ok {
		if first.path == name && first.sum == sum && first.mount != mount && file.GetOmittedBytes() == 0 {
			t.mix(name, mount)
			return true, nil
		}
		return false, t.collision(name, first.mount, mount)
	}
	if first, ok := t.folders[key]; ok {
		return false, t.collision(name, first, mount)
	}
	t.files[key] = owner{mount, name, sum}
	t.mix(name, mount)
	for dir := path.Dir(key); dir != "."; dir = path.Dir(dir) {
		if first, ok := t.files[dir]; ok {
			return false, t.collision(dir, first.mount, mount)
		}
		if _, known := t.folders[dir]; known {
			break
		}
		t.folders[dir] = mount
	}
	return false, nil
}

// mix records that a part has a file where another, hidden one is shown.
func (t *taking) mix(name string, mount int) {
	for i, m := range t.mounts {
		if i != mount && m.hidden && (m.shown == "" || strings.HasPrefix(name, m.shown+"/")) && !strings.HasPrefix(name, hiddenParts+"/") {
			m.mixed = true
		}
	}
}

// keepOut rejects a file in a folder that is reserved for another part.
func (t *taking) keepOut(name string, mount int) error {
	m := t.mounts[mount]
	inside := func(dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }
	if inside(hiddenParts) && (!m.hidden || !inside(m.at)) {
		return errcode.New(errcode.Invalid, "%s: the name %s is reserved for the agent if a service has several sources (%s)", name, hiddenParts, m.name())
	}
	for _, other := range t.mounts {
		dir := other.at
		if other.hidden {
			dir = other.shown
		}
		if other != m && path.Base(dir) == chartPath && inside(dir) {
			return errcode.New(errcode.Invalid, "%s: the name %s is reserved for the service's chart (%s)", name, chartPath, m.name())
		}
	}
	return nil
}

func (t *taking) collision(name string, first, second int) error {
	if first == second {
		return errcode.New(errcode.Invalid, "%s: %s has it twice, once as a folder or with different case", name, t.mounts[first].name())
	}
	return errcode.New(errcode.Invalid, "%s: both %s and %s have this file; give one of them a path of its own",
		name, t.mounts[first].name(), t.mounts[second].name())
}

// name is the part's name for people.
func (m *mount) name() string {
	if m.part.Name == "" {
		return "the source at path " + strconv.Quote(m.part.Path)
	}
	return m.part.Name + " at path " + strconv.Quote(m.part.Path)
}

// sumOf distinguishes equal files from different ones. It is zero if the content was
// left out.
func sumOf(file *renderv1.File) [sha256.Size]byte {
	if file.GetLink() != "" {
		return sha256.Sum256([]byte("link " + file.GetLink()))
	}
	return sha256.Sum256(append([]byte("file "), file.GetContent()...))
}

// relative returns the target of a link from a folder to a file.
func relative(folder, file string) (string, error) {
	rel, err := filepath.Rel(filepath.FromSlash("/"+folder), filepath.FromSlash("/"+file))
	return filepath.ToSlash(rel), err
}
