package kubelet

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// identity is the user that a container runs as. The zero value is root.
type identity struct {
	uid, gid int64
	groups   []int64
	confined bool // may not gain privileges
}

// identity reads the security contexts, of which the container's goes before
// the pod's. As in an image without a user, it is root where neither says.
func (p *pod) identity(c *corev1.Container) identity {
	var id identity
	if s := p.object.Spec.SecurityContext; s != nil {
		set(&id.uid, s.RunAsUser)
		set(&id.gid, s.RunAsGroup)
		id.groups = append(id.groups, s.SupplementalGroups...)
		if s.FSGroup != nil {
			id.groups = append(id.groups, *s.FSGroup)
		}
	}
	if s := c.SecurityContext; s != nil {
		set(&id.uid, s.RunAsUser)
		set(&id.gid, s.RunAsGroup)
		id.confined = s.AllowPrivilegeEscalation != nil && !*s.AllowPrivilegeEscalation
	}
	return id
}

func set(to *int64, from *int64) {
	if from != nil {
		*to = *from
	}
}

// become is the command that turns into the identity and then the program. The
// death of the parent must be asked for again: a change of user forgets it.
func (id identity) become() string {
	program, err := exec.LookPath("setpriv")
	if id.uid == 0 && id.gid == 0 || err != nil {
		return ""
	}
	groups := "--clear-groups"
	if len(id.groups) > 0 {
		groups = "--groups=" + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(id.groups)), ","), "[]")
	}
	line := fmt.Sprintf("%s --reuid=%d --regid=%d %s --pdeathsig=KILL", quote(program), id.uid, id.gid, groups)
	if id.confined {
		line += " --no-new-privs"
	}
	return line
}

// fsGroup gives a file of a volume to the pod's group, with the owner's read and
// write permissions.
func (p *pod) fsGroup(path string) error {
	s := p.object.Spec.SecurityContext
	if s == nil || s.FSGroup == nil {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if err := os.Chown(path, -1, int(*s.FSGroup)); err != nil {
		return err
	}
	return os.Chmod(path, info.Mode()|(info.Mode().Perm()>>3)&0o070)
}
