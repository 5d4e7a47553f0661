package main

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/axle-cd/axle/cmd/release/debian"
)

// The parts of SPDX 2.3 that a list of components needs.
type (
	spdx struct {
		Version       string         `json:"spdxVersion"`
		License       string         `json:"dataLicense"`
		ID            string         `json:"SPDXID"`
		Name          string         `json:"name"`
		Namespace     string         `json:"documentNamespace"`
		Creation      creation       `json:"creationInfo"`
		Packages      []spdxPackage  `json:"packages"`
		Relationships []relationship `json:"relationships"`
	}
	creation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdxPackage struct {
		ID        string     `json:"SPDXID"`
		Name      string     `json:"name"`
		Version   string     `json:"versionInfo"`
		Location  string     `json:"downloadLocation"`
		Analysed  bool       `json:"filesAnalyzed"`
		Concluded string     `json:"licenseConcluded"`
		Declared  string     `json:"licenseDeclared"`
		Copyright string     `json:"copyrightText"`
		Checksums []checksum `json:"checksums,omitempty"`
		Refs      []ref      `json:"externalRefs,omitempty"`
	}
	checksum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	ref struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	relationship struct {
		From string `json:"spdxElementId"`
		Type string `json:"relationshipType"`
		To   string `json:"relatedSpdxElement"`
	}
)

const unknown = "NOASSERTION"

// bill collects the components of a binary or an image.
type bill struct {
	doc  spdx
	root string
	seen map[string]bool
}

// newBill begins the document of a thing, named by its content.
func (p *plan) newBill(name string, content digest.Digest) *bill {
	b := &bill{seen: map[string]bool{}}
	b.doc = spdx{Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name,
		Namespace: "https://axle-cd.github.io/spdx/" + url.PathEscape(name) + "/" + content.Encoded(),
		Creation:  creation{p.when.Format("2006-01-02T15:04:05Z"), []string{"Tool: axle-release-" + p.version}}}
	b.root = b.add(spdxPackage{Name: name, Version: p.version, Declared: "Apache-2.0", Location: "git+https://github.com/axle-cd/axle@" + p.commit,
		Checksums: []checksum{{"SHA256", content.Encoded()}}}, "")
	b.doc.Relationships = append(b.doc.Relationships, relationship{b.doc.ID, "DESCRIBES", b.root})
	return b
}

// add adds a component once and returns its ID.
func (b *bill) add(c spdxPackage, locator string) string {
	id := "SPDXRef-" + digest.FromString(c.Name + "\n" + c.Version + "\n" + locator).Encoded()[:16]
	if b.seen[id] {
		return id
	}
	b.seen[id] = true
	c.ID, c.Concluded, c.Copyright = id, unknown, unknown
	c.Declared, c.Location = cmp.Or(c.Declared, unknown), cmp.Or(c.Location, unknown)
	if locator != "" {
		c.Refs = []ref{{"PACKAGE-MANAGER", "purl", locator}}
	}
	b.doc.Packages = append(b.doc.Packages, c)
	return id
}

// contains says that a thing is made of another.
func (b *bill) contains(id, part string) {
	b.doc.Relationships = append(b.doc.Relationships, relationship{id, "CONTAINS", part})
}

// modules adds what a program was linked from, as the program itself says it.
func (b *bill) modules(file, of string) error {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return fmt.Errorf("the modules of %s: %w", file, err)
	}
	b.contains(of, b.add(spdxPackage{Name: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go"), Declared: "BSD-3-Clause"}, "pkg:golang/stdlib@"+strings.TrimPrefix(info.GoVersion, "go")))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.contains(of, b.add(spdxPackage{Name: m.Path, Version: m.Version}, "pkg:golang/"+m.Path+"@"+m.Version))
	}
	return nil
}

// debs adds Debian packages.
func (b *bill) debs(packages []debian.Package) {
	for _, d := range packages {
		b.contains(b.root, b.add(spdxPackage{Name: d.Name, Version: d.Version, Checksums: []checksum{{"SHA256", d.SHA256}}},
			"pkg:deb/debian/"+d.Name+"@"+url.PathEscape(d.Version)+"?arch="+d.Arch))
	}
}

func (b *bill) json() ([]byte, error) {
	slices.SortStableFunc(b.doc.Packages[1:], func(x, y spdxPackage) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Version, y.Version))
	})
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(b.doc)
	return out.Bytes(), err
}

// programBill is the document of one program.
func (p *plan) programBill(t target, name string) ([]byte, error) {
	file := p.built[t][name]
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	b := p.newBill(name+"_"+t.os+"_"+t.arch, digest.FromBytes(data))
	if err := b.modules(file, b.root); err != nil {
		return nil, err
	}
	return b.json()
}

// imageBill is the document of an image, for all its architectures.
func (p *plan) imageBill(i image, content digest.Digest, lock *debian.Lock) ([]byte, error) {
	b := p.newBill(i.name, content)
	for _, arch := range p.linux() {
		packages, err := lock.For(arch, i.packages...)
		if err != nil {
			return nil, err
		}
		b.debs(packages)
		for _, name := range i.programs {
			program := b.add(spdxPackage{Name: name, Version: p.version, Declared: "Apache-2.0"}, "pkg:generic/"+name+"@"+p.version+"?arch="+arch)
			b.contains(b.root, program)
			if err := b.modules(p.built[target{"linux", arch}][name], program); err != nil {
				return nil, err
			}
		}
	}
	return b.json()
}
