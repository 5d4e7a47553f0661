package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/opencontainers/go-digest"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/release"
)

// packaging holds the templates of packages, below the root of the repository.
const packaging = "deploy/packages"

// folder is where the files of the release are.
type folder string

func (p *plan) files() folder { return folder(filepath.Join(p.out, "files")) }

func (f folder) put(name string, data []byte) error {
	return os.WriteFile(filepath.Join(string(f), name), data, 0o644)
}

func (f folder) read(name string) ([]byte, error) { return os.ReadFile(filepath.Join(string(f), name)) }

// writeFiles makes everything that people download by itself.
func (p *plan) writeFiles(ctx context.Context) error {
	p.say("packing programs")
	for _, t := range p.targets {
		for _, name := range t.programs() {
			document, err := p.programBill(t, name)
			if err != nil {
				return err
			}
			if err := p.files().put(fmt.Sprintf("%s_%s_%s_%s.spdx.json", name, p.version, t.os, t.arch), document); err != nil {
				return err
			}
		}
		for _, i := range images {
			if slices.Contains(t.programs(), i.name) {
				if err := p.archive(t, i); err != nil {
					return err
				}
			}
		}
	}
	for _, t := range p.targets {
		data, err := providerZip(p, t)
		if err != nil {
			return err
		}
		if err := p.files().put(providerName(p, t), data); err != nil {
			return err
		}
	}
	if err := p.definitions(); err != nil {
		return err
	}
	if err := p.packages(ctx); err != nil {
		return err
	}
	return p.scripts()
}

// packing is how hard archives and layers are compressed.
var packing = gzip.DefaultCompression

func packer(to io.Writer) *gzip.Writer {
	z, _ := gzip.NewWriterLevel(to, packing) // fails for no such level
	return z
}

// archive packs the programs of an image for who runs them without one.
func (p *plan) archive(t target, i image) error {
	var out bytes.Buffer
	z := packer(&out)
	w := tar.NewWriter(z)
	files := map[string]string{"LICENSE": filepath.Join(p.source, "LICENSE")}
	for _, name := range i.programs {
		files[name] = p.built[t][name]
	}
	for _, name := range append(slices.Clone(i.programs), "LICENSE") {
		data, err := os.ReadFile(files[name])
		if err != nil {
			return err
		}
		mode := int64(0o755)
		if name == "LICENSE" {
			mode = 0o644
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(data)), ModTime: p.when, Format: tar.FormatPAX}); err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return p.files().put(fmt.Sprintf("%s_%s_%s_%s.tar.gz", i.name, p.version, t.os, t.arch), out.Bytes())
}

// providerName is the file of the Terraform provider, as Terraform's mirrors call it.
func providerName(p *plan, t target) string {
	return fmt.Sprintf("%s_%s_%s_%s.zip", terraformProvider, p.version, t.os, t.arch)
}

// providerZip packs the Terraform provider as Terraform unpacks it.
func providerZip(p *plan, t target) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, entry := range []struct {
		name, from string
		mode       os.FileMode
	}{{terraformProvider + "_v" + p.version, p.built[t][terraformProvider], 0o755}, {"LICENSE", filepath.Join(p.source, "LICENSE"), 0o644}} {
		data, err := os.ReadFile(entry.from)
		if err != nil {
			return nil, err
		}
		header := &zip.FileHeader{Name: entry.name, Method: zip.Deflate, Modified: p.when}
		header.SetMode(entry.mode)
		f, err := w.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// definitions joins the CRDs into one file.
func (p *plan) definitions() error {
	files, err := filepath.Glob(filepath.Join(p.source, "deploy", "crds", "*.yaml"))
	if err != nil {
		return err
	}
	var all bytes.Buffer
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		all.WriteString("---\n")
		all.Write(bytes.TrimPrefix(data, []byte("---\n")))
	}
	return p.files().put("axle-crds_"+p.version+".yaml", all.Bytes())
}

// packages makes a .deb and an .rpm of the client and of the hub, with a unit.
func (p *plan) packages(ctx context.Context) error {
	env := append(toolEnv(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", p.when.Unix()))
	tool, err := p.run(ctx, env, "go", "tool", "-modfile="+p.packager, "-n", "nfpm") // compiles it, once
	if err != nil {
		return err
	}
	for _, arch := range p.linux() {
		for _, name := range []string{"axle", "axle-hub"} {
			config, err := yaml.Marshal(p.packageConfig(name, arch))
			if err != nil {
				return err
			}
			file := filepath.Join(p.out, ".programs", name+"_"+arch+".yaml")
			if err := os.WriteFile(file, config, 0o644); err != nil {
				return err
			}
			for _, kind := range []string{"deb", "rpm"} {
				to := filepath.Join(p.out, "files", fmt.Sprintf("%s_%s_%s.%s", name, p.version, arch, kind))
				if _, err := p.run(ctx, env, tool, "package", "--config", file, "--packager", kind, "--target", to); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// packageConfig is what nfpm reads.
func (p *plan) packageConfig(name, arch string) map[string]any {
	type content = map[string]any
	from := func(file string) string { return filepath.Join(p.source, packaging, file) }
	contents := []content{
		{"src": p.built[target{"linux", arch}][name], "dst": "/usr/bin/" + name, "file_info": content{"mode": 0o755}},
		{"src": filepath.Join(p.source, "LICENSE"), "dst": "/usr/share/doc/" + name + "/copyright", "file_info": content{"mode": 0o644}},
	}
	out := map[string]any{
		"name": name, "arch": arch, "platform": "linux", "version": p.version, "version_schema": "semver", "mtime": p.when.Format("2006-01-02T15:04:05Z"),
		"maintainer": "The Axle authors <axle@users.noreply.github.com>", "homepage": "https://github.com/axle-cd/axle", "license": "Apache-2.0",
		"section": "admin", "priority": "optional", "rpm": content{"buildhost": "localhost"},
		"description": "Client of Axle, GitOps for fleets of Kubernetes clusters",
	}
	if name == "axle-hub" {
		out["description"] = "Hub of Axle, GitOps for fleets of Kubernetes clusters"
		out["depends"] = []string{"git", "ca-certificates"}
		out["scripts"] = content{"postinstall": from("postinstall.sh"), "preremove": from("preremove.sh"), "postremove": from("postremove.sh")}
		contents = append(contents,
			content{"src": from("axle-hub.service"), "dst": "/usr/lib/systemd/system/axle-hub.service", "file_info": content{"mode": 0o644}},
			content{"src": from("axle-hub.sysusers"), "dst": "/usr/lib/sysusers.d/axle-hub.conf", "file_info": content{"mode": 0o644}},
			content{"src": from("axle-hub.env"), "dst": "/etc/axle-hub/axle-hub.env", "type": "config|noreplace", "file_info": content{"mode": 0o640}})
	}
	for _, c := range contents {
		c["file_info"].(content)["mtime"] = p.when.Format("2006-01-02T15:04:05Z")
	}
	out["contents"] = contents
	return out
}

// archiveOf is one archive of the client in the formula.
type archiveOf struct{ CPU, URL, SHA256 string }

// scripts writes the formula of Homebrew and, for a signed release, the script that
// checks and installs.
func (p *plan) scripts() error {
	type system struct {
		Name     string
		Archives []archiveOf
	}
	var systems []system
	for _, os := range [][2]string{{"darwin", "macos"}, {"linux", "linux"}} {
		s := system{Name: os[1]}
		for _, t := range p.targets {
			if t.os != os[0] {
				continue
			}
			name := fmt.Sprintf("axle_%s_%s_%s.tar.gz", p.version, t.os, t.arch)
			data, err := p.files().read(name)
			if err != nil {
				return err
			}
			s.Archives = append(s.Archives, archiveOf{map[string]string{"amd64": "intel", "arm64": "arm"}[t.arch], p.downloads + "/" + name, digest.FromBytes(data).Encoded()})
		}
		if s.Archives != nil {
			systems = append(systems, s)
		}
	}
	if err := p.template("axle.rb", map[string]any{"Version": p.version, "Systems": systems}); err != nil {
		return err
	}
	if p.publicKey == nil {
		return nil
	}
	return p.template("install.sh", map[string]any{"Version": p.version, "Downloads": p.downloads, "Key": strings.TrimSpace(string(p.publicKey))})
}

func (p *plan) template(name string, values any) error {
	t, err := template.ParseFiles(filepath.Join(p.source, packaging, name+".tmpl"))
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := t.Option("missingkey=error").Execute(&out, values); err != nil {
		return err
	}
	return p.files().put(name, out.Bytes())
}

// list returns the files so far, by name.
func (f folder) list() ([]release.File, error) {
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return nil, err
	}
	var out []release.File
	for _, e := range entries {
		data, err := f.read(e.Name())
		if err != nil {
			return nil, err
		}
		out = append(out, release.File{Name: e.Name(), Digest: digest.FromBytes(data), Size: int64(len(data))})
	}
	return out, nil
}

// checksums writes the list of all files, and returns them with it.
func (f folder) checksums() ([]release.File, error) {
	files, err := f.list()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, file := range files {
		fmt.Fprintf(&b, "%s  %s\n", file.Digest.Encoded(), file.Name)
	}
	if err := f.put("checksums.txt", b.Bytes()); err != nil {
		return nil, err
	}
	return f.list()
}
