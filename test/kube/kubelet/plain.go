package kubelet

import (
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// plainCommand starts a container where namespaces are not permitted: mount
// paths in its arguments and variables become the paths they stand for.
func (p *pod) plainCommand(img image, mounts []mount, workdir string, args, env []string) (*exec.Cmd, []string) {
	program := args[0]
	if file, ok := img.files[path.Base(program)]; ok && path.Dir(program) == binDir {
		program = file
	}
	cmd := exec.Command(program)
	for _, arg := range args[1:] {
		cmd.Args = append(cmd.Args, rewrite(arg, mounts))
	}
	rewritten := []string{"AXLE_POD_ROOT=" + p.dir}
	for _, variable := range env {
		key, value, _ := strings.Cut(variable, "=")
		rewritten = append(rewritten, key+"="+rewrite(value, mounts))
	}
	cmd.Dir = p.dir
	if real := rewrite(workdir, mounts); filepath.IsAbs(real) {
		cmd.Dir = real
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd, rewritten
}

// rewrite replaces mount paths, the innermost first, wherever they begin a
// word: after the start, an equals sign, a colon or a comma.
func rewrite(text string, mounts []mount) string {
	for i := len(mounts) - 1; i >= 0; i-- {
		m := mounts[i]
		if path.Dir(m.target) == binDir {
			continue
		}
		for from := 0; ; {
			at := strings.Index(text[from:], m.target)
			if at < 0 {
				break
			}
			at += from
			end := at + len(m.target)
			begins := at == 0 || strings.ContainsRune("=:, ", rune(text[at-1]))
			ends := end == len(text) || strings.ContainsRune("/:, ", rune(text[end]))
			if from = end; begins && ends {
				text = text[:at] + m.source + text[end:]
				from = at + len(m.source)
			}
		}
	}
	return text
}
