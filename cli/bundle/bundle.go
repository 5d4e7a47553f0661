package bundle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/release"
)

// Command is axle bundle.
func Command(a *command.App) *cobra.Command {
	return command.Noun("bundle", "Carry a whole release to where there is no network", nil, create(a), verify(a), push(a))
}

// trust are the flags that say whose signature counts.
type trust struct {
	keyFile  string
	unsigned bool
}

func (t *trust) flags(c *cobra.Command) {
	c.Flags().StringVar(&t.keyFile, "key", "", "file with the public key that the release must be signed with (default: the key of the release that this axle is from)")
	c.Flags().BoolVar(&t.unsigned, "insecure-unsigned", false, "accept a release that is not signed, such as one of your own for a try; contents are still checked")
}

// key is nil if signatures do not count.
func (t *trust) key() (*release.Key, error) {
	if t.unsigned {
		if t.keyFile != "" {
			return nil, exitcode.Usagef("--key and --insecure-unsigned contradict each other: give one of them")
		}
		return nil, nil
	}
	text, from := []byte(buildinfo.ReleaseKey), "the compiled-in key"
	if t.keyFile != "" {
		var err error
		if text, err = os.ReadFile(t.keyFile); err != nil {
			return nil, err
		}
		from = t.keyFile
	}
	if len(text) == 0 {
		return nil, exitcode.Usagef("this axle is no release and so knows no key to trust: give --key with the public key of the release, got from elsewhere than the bundle")
	}
	k, err := release.ParseKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return &k, nil
}

// row is what the commands print of an artifact or a file.
type row struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
	Size   int64  `json:"size,omitempty"`
}

func show(a *command.App, i *inventory) error {
	var rows []row
	for _, x := range i.release.Artifacts {
		rows = append(rows, row{Name: x.Ref(), Digest: x.Digest.String()})
	}
	for _, f := range i.release.Files {
		rows = append(rows, row{Name: f.Name, Digest: f.Digest.String(), Size: f.Size})
	}
	return command.PrintList(a, rows, func(r row) string { return r.Name },
		command.Col("NAME", func(r row) string { return r.Name }),
		command.Col("DIGEST", func(r row) string { return r.Digest }),
		command.Col("SIZE", func(r row) string {
			if r.Size == 0 {
				return ""
			}
			return size(r.Size)
		}))
}

func create(a *command.App) *cobra.Command {
	var t trust
	var from, version string
	var plainHTTP bool
	var limit time.Duration
	c := &cobra.Command{
		Use:   "create FILE --from FOLDER|REGISTRY",
		Short: "Write a release into one file",
		Long: `Write a release into one file: images, charts, and all its files. It is read from the
folder that make release has written, or from a registry, and checked on the way.

The file is an OCI layout in a tar, which other tools read as well.`,
		Example: `  axle bundle create axle-1.4.2.tar --from ghcr.io --version 1.4.2
  axle bundle create axle-1.4.2.tar --from dist/release --key release.pub`,
		Args: command.Exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			key, err := t.key()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context(), limit)
			defer cancel()
			src, err := open(ctx, a, from, &version, plainHTTP)
			if err != nil {
				return err
			}
			p := a.Begin("reading the release from %s", from)
			defer p.End()
			i, err := take(ctx, src, version, key)
			if err != nil {
				return err
			}
			if err := i.err("this release"); err != nil {
				return err
			}
			if err := i.write(ctx, args[0], src, bytesOf(p, "writing "+args[0])); err != nil {
				return over(err, limit)
			}
			fmt.Fprintf(a.Err, "%s: Axle %s, %s\n", args[0], i.release.Version, size(i.bytes()))
			return nil
		},
	}
	t.flags(c)
	c.Flags().StringVar(&from, "from", "", "folder of a release, or HOST[:PORT][/PATH] of a registry")
	c.Flags().StringVar(&version, "version", "", "version of the release in the registry")
	c.Flags().BoolVar(&plainHTTP, "plain-http", false, "speak HTTP without TLS to the registry")
	c.Flags().DurationVar(&limit, "timeout", 2*time.Hour, "how long it may take")
	_ = c.MarkFlagRequired("from")
	return c
}

// open opens a folder, a bundle or a registry. It finds the version of the first two.
func open(ctx context.Context, a *command.App, from string, version *string, plainHTTP bool) (source, error) {
	_, err := os.Stat(from)
	switch {
	case err == nil:
		l, err := openLayout(ctx, from)
		if err != nil {
			return nil, err
		}
		if have := l.versions(); len(have) != 1 {
			return nil, fmt.Errorf("%s has %d releases, want one", from, len(have))
		} else if *version == "" {
			*version = have[0]
		}
		return l, nil
	case strings.HasPrefix(from, ".") || strings.HasPrefix(from, "/"):
		return nil, err
	case *version == "":
		return nil, exitcode.Usagef("%s is not a folder. If it is a registry, name the release with --version", from)
	}
	return openRegistry(a, from, plainHTTP)
}

// bytesOf shows how far something is.
func bytesOf(p *command.Progress, what string) func(done, all int64) {
	step := int64(-1)
	return func(done, all int64) {
		if all == 0 {
			return
		}
		// One line for each tenth.
		if now := done * 10 / all; now != step {
			step = now
			p.Say("%s: %d%% of %s", what, now*10, size(all))
		}
	}
}

// over says which limit ended a command.
func over(err error, limit time.Duration) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: it took more than --timeout %s", err, limit)
	}
	return err
}

// checked opens a bundle or a folder and checks every byte.
func checked(ctx context.Context, a *command.App, path string, t *trust, p *command.Progress) (*inventory, *layout, error) {
	key, err := t.key()
	if err != nil {
		return nil, nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, nil, err
	}
	var version string
	src, err := open(ctx, a, path, &version, false)
	if err != nil {
		return nil, nil, err
	}
	i, err := take(ctx, src, version, key)
	if err != nil {
		return nil, nil, err
	}
	if err := i.check(ctx, src, bytesOf(p, "checking "+path)); err != nil {
		return nil, nil, err
	}
	l, ok := src.(*layout)
	if !ok {
		return nil, nil, fmt.Errorf("%s is no bundle", path)
	}
	return i, l, i.err(path)
}

func verify(a *command.App) *cobra.Command {
	var t trust
	c := &cobra.Command{
		Use:   "verify BUNDLE",
		Short: "Check that every byte of a bundle is from a release",
		Long: `Check a bundle, or the folder of a release: that the list of the release is signed, and
that every image, chart and file is the one of the list. The trusted key is the one that
this axle was built with, or --key. A key in the bundle proves nothing, and is not used.

It names what was altered, is missing, or was added, and then ends with 1.`,
		Example: `  axle bundle verify axle-1.4.2.tar
  axle bundle verify axle-1.4.2.tar --key release.pub -o json`,
		Args: command.Exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			p := a.Begin("checking %s", args[0])
			i, _, err := checked(c.Context(), a, args[0], &t, p)
			p.End()
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "%s is Axle %s of commit %s, unaltered\n", args[0], i.release.Version, command.Short(i.release.Commit))
			return show(a, i)
		},
	}
	t.flags(c)
	return c
}

func push(a *command.App) *cobra.Command {
	var t trust
	var plainHTTP, overwrite bool
	var limit time.Duration
	c := &cobra.Command{
		Use:   "push BUNDLE REGISTRY",
		Short: "Copy a bundle into a registry",
		Long: `Check a bundle, or the folder of a release, and copy everything in it into a registry:
images, charts, signatures and files. They keep their names below REGISTRY, so that the
charts need one value to find them: --set global.registry=REGISTRY.

Blobs that the registry already has are not sent again: after an interruption, run the
same command to continue. Other content under one of the names is refused, except with --overwrite. A
signature that you added beside ours stays.

Credentials are those of docker login. --ca names the authority of a registry with a
private certificate.`,
		Example: `  axle bundle push axle-1.4.2.tar registry.internal
  axle bundle push axle-1.4.2.tar registry.internal:5000/mirror --ca ca.pem`,
		Args: command.Exactly(2),
		RunE: func(c *cobra.Command, args []string) error {
			to, err := openRegistry(a, args[1], plainHTTP)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context(), limit)
			defer cancel()
			p := a.Begin("checking %s", args[0])
			defer p.End()
			i, from, err := checked(ctx, a, args[0], &t, p)
			if err != nil {
				return err
			}
			all := i.bytes()
			say := func(name string, done int64) {
				p.Say("pushing %s: %d%% of %s", name, min(100, done*100/max(1, all)), size(all))
			}
			roots := i.roots
			if !overwrite {
				if roots, err = to.lacking(ctx, i, from); err != nil {
					return over(err, limit)
				}
			}
			if err := to.push(ctx, roots, from, say); err != nil {
				return over(err, limit)
			}
			fmt.Fprintf(a.Err, "Axle %s is in %s; install it with --set global.registry=%s\n", i.release.Version, args[1], args[1])
			return show(a, i)
		},
	}
	t.flags(c)
	c.Flags().BoolVar(&plainHTTP, "plain-http", false, "speak HTTP without TLS to the registry")
	c.Flags().BoolVar(&overwrite, "overwrite", false, "replace other content that the registry has under names of this release")
	c.Flags().DurationVar(&limit, "timeout", 2*time.Hour, "how long it may take")
	return c
}
