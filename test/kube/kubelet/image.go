package kubelet

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// prefix marks the images that name a binary.
const prefix = "axle.test/"

// binDir is where a container finds the binaries.
const binDir = "/usr/local/bin"

// image is the program of a container.
type image struct {
	name  string            // of the binary that the image is named for
	files map[string]string // all binaries: name to file on this machine
}

// resolve finds the binaries of an image. The error is that of a registry without the
// image.
func (k *Kubelet) resolve(ref string) (image, error) {
	prefix := cmp.Or(k.cfg.Images, prefix)
	rest, ok := strings.CutPrefix(ref, prefix)
	if !ok {
		return image{}, fmt.Errorf("image %s does not begin with %s: this node runs nothing else", ref, prefix)
	}
	rest, _, _ = strings.Cut(rest, "@")
	name, version, _ := strings.Cut(path.Base(rest), ":")
	if _, ok := k.cfg.Binary(name, version); !ok {
		return image{}, fmt.Errorf("image %s is not known: the kubelet was given no binary %s", ref, rest)
	}
	img := image{name: name, files: map[string]string{}}
	for _, sibling := range k.cfg.Names() {
		if file, ok := k.cfg.Binary(sibling, version); ok {
			if absolute, err := filepath.Abs(file); err == nil {
				img.files[sibling] = absolute
			}
		}
	}
	return img, nil
}

// command is what a container executes: the pod's command and arguments, or the
// image's binary. A command that names the binary by another path, as in
// /ko-app/axle-agent, is also the binary.
func (i image) command(command, args []string) []string {
	entry := path.Join(binDir, i.name)
	if len(command) == 0 {
		return append([]string{entry}, args...)
	}
	line := append(append([]string{}, command...), args...)
	if path.Base(line[0]) == i.name {
		line[0] = entry
	}
	return line
}
