package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/cmd/release/debian"
	"github.com/axle-cd/axle/internal/atomicfile"
)

// lockFile is the list of Debian packages, below the root of the repository.
const lockFile = "deploy/images/hub.lock"

// The hub runs git's own programs and no script of it. It speaks SSH itself, so that
// the image has neither ssh nor a shell.
var (
	wanted = []string{"ca-certificates", "git"}
	left   = []string{"git-man", "liberror-perl", "perl", "openssl", "debconf", "debconf-2.0", "libsasl2-modules-db", "openssl-provider-legacy"}
)

func lockCommand() *cobra.Command {
	wish := debian.Wish{Arches: []string{"amd64", "arm64"}, Want: wanted, Leave: left}
	var mirror string
	c := &cobra.Command{
		Use:   "lock",
		Short: "Write the lock of the images' Debian packages anew, with the newest versions",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			store, err := packageStore(mirror)
			if err != nil {
				return err
			}
			l, err := debian.Resolve(c.Context(), store, wish, time.Now())
			if err != nil {
				return err
			}
			if err := atomicfile.Write(lockFile, l.Format(), 0o644); err != nil {
				return err
			}
			fmt.Printf("%s: %d packages of %s\n", lockFile, len(l.Packages), l.Suite)
			return nil
		},
	}
	c.Flags().StringVar(&wish.Suite, "suite", "trixie", "release of Debian")
	c.Flags().StringVar(&wish.Keyring, "keyring", "/usr/share/keyrings/debian-archive-keyring.gpg", "file with Debian's keys")
	c.Flags().StringVar(&mirror, "mirror", os.Getenv("AXLE_DEBIAN_MIRROR"), "address of a mirror of debian and debian-security (env AXLE_DEBIAN_MIRROR)")
	return c
}

// packageStore keeps packages in the cache folder of the project.
func packageStore(mirror string) (debian.Store, error) {
	dir := os.Getenv("AXLE_CACHE")
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return debian.Store{}, fmt.Errorf("find the cache folder, set AXLE_CACHE: %w", err)
		}
		dir = filepath.Join(base, "axle")
	}
	return debian.Store{Dir: filepath.Join(dir, "debian"), Mirror: mirror}, nil
}
