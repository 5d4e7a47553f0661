package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/cmd/release/debian"
	"github.com/axle-cd/axle/internal/release"
	"github.com/axle-cd/axle/internal/soak"
)

func makeCommand() *cobra.Command {
	p := &plan{}
	var key, targets, mirror string
	var dirty, unsoaked bool
	c := &cobra.Command{
		Use:   "make",
		Short: "Make everything that a release publishes",
		Long: `Make everything that a release publishes: programs, images, charts, CRDs, packages, lists
of contents, checksums, signatures and provenance, in the folder --out. Equal commits give
equal bytes, except for signatures. Nothing is published. axle bundle push does that.

Without --key nothing is signed: such a release is for a try. A commit is signed when a run
of make soak covers it (test/soak-record.txt), with no change of deploy, cmd/release and
hub/store/sqldb since, within a week.`,
		Example: `  openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out release.key
  release make --key release.key --version 1.4.2
  release make --key awskms:///alias/axle-release --version 1.4.2
  release make --targets linux/amd64`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if p.targets, err = parseTargets(targets); err != nil {
				return err
			}
			if p.store, err = packageStore(mirror); err != nil {
				return err
			}
			if key != "" {
				if err := p.useKey(c.Context(), key); err != nil {
					return err
				}
			}
			p.say = func(format string, args ...any) { fmt.Fprintf(c.ErrOrStderr(), format+"\n", args...) }
			if key != "" && !dirty && !unsoaked {
				if err := soaked(c.Context(), p.source); err != nil {
					return err
				}
			}
			return p.make(c.Context(), c.OutOrStdout(), dirty)
		},
	}
	f := c.Flags()
	f.StringVar(&p.source, "source", ".", "root of the checkout")
	f.StringVar(&p.out, "out", "dist/release", "folder for the release; a release that is there is replaced")
	f.StringVar(&p.version, "version", "", "version, such as 1.4.2 (default: the tag of the commit, or one made from its time)")
	f.StringVar(&targets, "targets", "", "OS/ARCH,… (default: linux and darwin, amd64 and arm64)")
	f.StringVar(&key, "key", "", "file with the private key that signs (PEM, ECDSA or RSA), or the URL of one in a key management service")
	f.StringVar(&p.registry, "registry", "ghcr.io", "registry where the images are published first; signatures name it")
	f.StringVar(&p.downloads, "downloads", "", "address of the files (default: the release's page at GitHub)")
	f.StringVar(&p.builder, "builder", "https://github.com/axle-cd/axle/make-release", "who builds, for the provenance")
	f.StringVar(&p.packager, "packager", "tools/nfpm.mod", "module file of the tool that makes packages")
	f.StringVar(&mirror, "mirror", os.Getenv("AXLE_DEBIAN_MIRROR"), "address of a mirror of debian and debian-security (env AXLE_DEBIAN_MIRROR)")
	f.BoolVar(&dirty, "dirty", false, "build from a checkout with changes, for a try")
	f.BoolVar(&unsoaked, "unsoaked", false, "sign a commit that no run of make soak covers, for a try")
	return c
}

// soaked returns an error unless a run of make soak covers the commit of a checkout.
func soaked(ctx context.Context, source string) error {
	s, err := soak.Look(ctx, source, time.Now())
	if err != nil {
		return err
	}
	if due := s.Due(); due != "" {
		return fmt.Errorf("%s; or try with --unsoaked", due)
	}
	return nil
}

// make writes the release beside out and renames it, so that out is a whole release or
// none.
func (p *plan) make(ctx context.Context, list io.Writer, dirty bool) error {
	final, err := filepath.Abs(p.out)
	if err != nil {
		return err
	}
	if err := replaceable(final); err != nil {
		return err
	}
	if p.source, err = filepath.Abs(p.source); err != nil {
		return err
	}
	if p.packager, err = filepath.Abs(p.packager); err != nil {
		return err
	}
	p.goVersion = runtime.Version()
	if err := p.readSource(ctx, dirty); err != nil {
		return err
	}
	if p.downloads == "" {
		p.downloads = "https://github.com/axle-cd/axle/releases/download/v" + p.version
	}
	lock, err := debian.ReadLock(filepath.Join(p.source, lockFile))
	if err != nil {
		return err
	}
	p.out = final + ".unfinished"
	if err := os.RemoveAll(p.out); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(p.out, "files"), 0o755); err != nil {
		return err
	}
	if err := p.compile(ctx); err != nil {
		return err
	}
	r, err := p.assemble(ctx, lock)
	if err != nil {
		return err
	}
	for _, scratch := range []string{filepath.Join(p.out, ".programs"), final} {
		if err := os.RemoveAll(scratch); err != nil {
			return err
		}
	}
	if err := os.Rename(p.out, final); err != nil {
		return err
	}
	p.print(list, r, final)
	return nil
}

// replaceable says whether a folder may be removed: it is a release or empty.
func replaceable(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && len(entries) == 0) {
		return nil
	}
	if _, layout := os.Stat(filepath.Join(dir, "oci", ocispec.ImageLayoutFile)); err == nil && layout == nil {
		return nil
	}
	return fmt.Errorf("%s is there and is no release: give another --out, or remove it", dir)
}

// assemble makes files and layout from the programs.
func (p *plan) assemble(ctx context.Context, lock *debian.Lock) (*release.Release, error) {
	to, err := release.NewLayout(filepath.Join(p.out, "oci"))
	if err != nil {
		return nil, err
	}
	if err := p.writeFiles(ctx); err != nil {
		return nil, err
	}
	artifacts, err := p.writeImages(ctx, to, lock)
	if err != nil {
		return nil, err
	}
	bills := map[string][]byte{}
	for n, i := range images {
		document, err := p.imageBill(i, artifacts[n].Digest, lock)
		if err != nil {
			return nil, err
		}
		if err := p.files().put(fmt.Sprintf("%s_%s_image.spdx.json", i.name, p.version), document); err != nil {
			return nil, err
		}
		bills[release.Prefix+i.name] = document
	}
	charts, err := p.writeCharts(to)
	if err != nil {
		return nil, err
	}
	components, err := p.writeComponents(ctx, to)
	if err != nil {
		return nil, err
	}
	r := &release.Release{Version: p.version, Commit: p.commit, Time: p.when, Artifacts: append(append(artifacts, charts...), components)}
	if r.Files, err = p.files().checksums(); err != nil {
		return nil, err
	}
	whole, err := to.PutRelease(r, string(p.files()), p.annotations("release"))
	if err != nil {
		return nil, err
	}
	if p.sign != nil {
		p.say("signing")
		provenance := p.provenance(lock)
		if err := p.signFiles(r.Files, provenance); err != nil {
			return nil, err
		}
		if err := p.signArtifacts(to, append(r.Artifacts, whole), bills, provenance); err != nil {
			return nil, err
		}
	}
	return r, to.Close()
}

// print lists what was made. The list of equal builds is equal.
func (p *plan) print(w io.Writer, r *release.Release, dir string) {
	fmt.Fprintf(w, "Axle %s from commit %s of %s\n\n", r.Version, r.Commit, r.Time.Format("2006-01-02 15:04:05Z"))
	for _, a := range r.Artifacts {
		fmt.Fprintf(w, "%s  %s\n", a.Digest, a.Ref())
	}
	for _, f := range r.Files {
		fmt.Fprintf(w, "%s  %s (%d bytes)\n", f.Digest, f.Name, f.Size)
	}
	p.say("\n%s: files to publish are in files/, images and charts in oci/", dir)
	if p.sign == nil {
		p.say("nothing is signed: give --key for a release that others can trust")
	}
}
