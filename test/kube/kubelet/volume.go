package kubelet

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// refreshEvery is how often volumes from the API are read again.
const refreshEvery = 5 * time.Second

// payload is one file of a volume that is read from the API.
type payload struct {
	data []byte
	mode os.FileMode
}

// token is a service account's, kept until it is due for renewal.
type token struct {
	value string
	renew time.Time
}

func (p *pod) volumeDir(name string) string { return filepath.Join(p.dir, "volumes", name) }

// fillVolumes creates the pod's volumes, or updates those that are read from the API.
func (p *pod) fillVolumes(ctx context.Context) error {
	for i := range p.object.Spec.Volumes {
		v := &p.object.Spec.Volumes[i]
		if err := p.fillVolume(ctx, v); err != nil {
			return fmt.Errorf("volume %s: %w", v.Name, err)
		}
	}
	return nil
}

func (p *pod) fillVolume(ctx context.Context, v *corev1.Volume) error {
	dir := p.volumeDir(v.Name)
	switch {
	case v.HostPath != nil:
		if t := v.HostPath.Type; t != nil && *t == corev1.HostPathDirectoryOrCreate {
			return os.MkdirAll(v.HostPath.Path, 0o755)
		}
		_, err := os.Stat(v.HostPath.Path)
		return err
	case v.PersistentVolumeClaim != nil:
		return claim(ctx, p, v)
	case v.EmptyDir != nil:
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		if err := os.Chmod(dir, 0o777); err != nil { // whatever the umask
			return err
		}
		return p.fsGroup(dir)
	}
	files, err := p.collect(ctx, v)
	if err != nil {
		return err
	}
	return writeFiles(dir, files, p.fsGroup)
}

// claim links a claim's folder to where the pod's volumes lie, once it is bound.
func claim(ctx context.Context, p *pod, v *corev1.Volume) error {
	name := v.PersistentVolumeClaim.ClaimName
	claim, err := p.k.cfg.Client.CoreV1().PersistentVolumeClaims(p.object.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if claim.Status.Phase != corev1.ClaimBound {
		return fmt.Errorf("the claim %s is not bound yet", name)
	}
	volume, err := p.k.cfg.Client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if volume.Spec.HostPath == nil {
		return fmt.Errorf("the volume %s of the claim %s is not a folder of this machine", volume.Name, name)
	}
	folder := volume.Spec.HostPath.Path
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	if err := errors.Join(os.Chmod(folder, 0o777), p.fsGroup(folder), os.MkdirAll(filepath.Dir(p.volumeDir(v.Name)), 0o755)); err != nil {
		return err
	}
	if err := os.Symlink(folder, p.volumeDir(v.Name)); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// collect reads the content of a volume from the API.
func (p *pod) collect(ctx context.Context, v *corev1.Volume) (map[string]payload, error) {
	files := map[string]payload{}
	switch {
	case v.Secret != nil:
		data, err := p.secret(ctx, v.Secret.SecretName, v.Secret.Optional)
		return files, add(files, data, v.Secret.Items, mode(v.Secret.DefaultMode), err, v.Secret.Optional)
	case v.ConfigMap != nil:
		data, err := p.configMap(ctx, v.ConfigMap.Name, v.ConfigMap.Optional)
		return files, add(files, data, v.ConfigMap.Items, mode(v.ConfigMap.DefaultMode), err, v.ConfigMap.Optional)
	case v.DownwardAPI != nil:
		return files, p.addDownward(files, v.DownwardAPI.Items, mode(v.DownwardAPI.DefaultMode))
	case v.Projected != nil:
		for i := range v.Projected.Sources {
			if err := p.project(ctx, files, &v.Projected.Sources[i], mode(v.Projected.DefaultMode)); err != nil {
				return nil, err
			}
		}
		return files, nil
	}
	return nil, fmt.Errorf("this kind of volume is not supported by the process kubelet")
}

func (p *pod) project(ctx context.Context, files map[string]payload, s *corev1.VolumeProjection, m os.FileMode) error {
	switch {
	case s.Secret != nil:
		data, err := p.secret(ctx, s.Secret.Name, s.Secret.Optional)
		return add(files, data, s.Secret.Items, m, err, s.Secret.Optional)
	case s.ConfigMap != nil:
		data, err := p.configMap(ctx, s.ConfigMap.Name, s.ConfigMap.Optional)
		return add(files, data, s.ConfigMap.Items, m, err, s.ConfigMap.Optional)
	case s.DownwardAPI != nil:
		return p.addDownward(files, s.DownwardAPI.Items, m)
	case s.ServiceAccountToken != nil:
		value, err := p.serviceAccountToken(ctx, s.ServiceAccountToken)
		files[s.ServiceAccountToken.Path] = payload{data: []byte(value), mode: m}
		return err
	}
	return fmt.Errorf("this kind of projection is not supported by the process kubelet")
}

// add puts the chosen keys, or all, among the files.
func add(files map[string]payload, data map[string][]byte, items []corev1.KeyToPath, m os.FileMode, err error, optional *bool) error {
	if err != nil {
		return err
	}
	if len(items) == 0 {
		for key, value := range data {
			files[key] = payload{data: value, mode: m}
		}
		return nil
	}
	for _, item := range items {
		value, ok := data[item.Key]
		if !ok {
			if isTrue(optional) {
				continue
			}
			return fmt.Errorf("there is no key %s", item.Key)
		}
		itemMode := m
		if item.Mode != nil {
			itemMode = os.FileMode(*item.Mode)
		}
		files[item.Path] = payload{data: value, mode: itemMode}
	}
	return nil
}

func (p *pod) addDownward(files map[string]payload, items []corev1.DownwardAPIVolumeFile, m os.FileMode) error {
	for _, item := range items {
		value, err := p.downward(item)
		if err != nil {
			return fmt.Errorf("file %s of the downward API: %w", item.Path, err)
		}
		itemMode := m
		if item.Mode != nil {
			itemMode = os.FileMode(*item.Mode)
		}
		files[item.Path] = payload{data: []byte(value), mode: itemMode}
	}
	return nil
}

// downward reads a field of the pod, or a resource of one of its containers.
func (p *pod) downward(item corev1.DownwardAPIVolumeFile) (string, error) {
	if item.FieldRef != nil {
		return p.field(item.FieldRef.FieldPath)
	}
	if ref := item.ResourceFieldRef; ref != nil {
		if c := p.container(ref.ContainerName); c != nil {
			return resourceField(c.spec, ref)
		}
	}
	return "", errors.New("it asks for neither a field nor a resource of a container")
}

// serviceAccountToken asks for a token bound to the pod, and for a new one
// when four fifths of its life are over.
func (p *pod) serviceAccountToken(ctx context.Context, s *corev1.ServiceAccountTokenProjection) (string, error) {
	if t, ok := p.tokens[s.Path+" "+s.Audience]; ok && time.Now().Before(t.renew) {
		return t.value, nil
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: s.ExpirationSeconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: p.object.Name, UID: p.object.UID},
	}}
	if s.Audience != "" {
		request.Spec.Audiences = []string{s.Audience}
	}
	account := cmp.Or(p.object.Spec.ServiceAccountName, "default")
	answer, err := p.k.cfg.Client.CoreV1().ServiceAccounts(p.object.Namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("token of service account %s: %w", account, err)
	}
	life := time.Until(answer.Status.ExpirationTimestamp.Time)
	p.tokens[s.Path+" "+s.Audience] = token{value: answer.Status.Token, renew: time.Now().Add(life * 4 / 5)}
	return answer.Status.Token, nil
}

func mode(m *int32) os.FileMode {
	if m == nil {
		return 0o644
	}
	return os.FileMode(*m)
}

// writeFiles makes dir hold exactly these files. As under a kubelet, they are
// links through ..data to a folder, so that a reader sees all of the old or
// all of the new content. Each file is given to its group by own.
func writeFiles(dir string, files map[string]payload, own func(path string) error) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if sameFiles(dir, files) {
		return nil
	}
	fresh, err := os.MkdirTemp(dir, "..")
	if err != nil {
		return err
	}
	if err := os.Chmod(fresh, 0o755); err != nil {
		return err
	}
	tops := map[string]bool{}
	for name, file := range files {
		target := filepath.Join(fresh, filepath.Clean("/"+name))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, file.data, file.mode); err != nil {
			return err
		}
		if err := errors.Join(os.Chmod(target, file.mode), own(target)); err != nil {
			return err
		}
		tops[topOf(name)] = true
	}
	return swap(dir, fresh, tops)
}

// swap points ..data to the new folder and removes the one it replaces.
func swap(dir, fresh string, tops map[string]bool) error {
	data := filepath.Join(dir, "..data")
	old, _ := os.Readlink(data)
	if err := os.Symlink(filepath.Base(fresh), data+"_tmp"); err != nil {
		return err
	}
	if err := os.Rename(data+"_tmp", data); err != nil {
		return err
	}
	for _, top := range slices.Sorted(maps.Keys(tops)) {
		if err := os.Symlink(path.Join("..data", top), filepath.Join(dir, top)); err != nil && !os.IsExist(err) {
			return err
		}
	}
	present, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range present {
		if name := entry.Name(); name == old && old != "" || !tops[name] && name[0:1] != "." {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func sameFiles(dir string, files map[string]payload) bool {
	if _, err := os.Lstat(filepath.Join(dir, "..data")); err != nil {
		return false
	}
	count := 0
	root, err := filepath.EvalSymlinks(filepath.Join(dir, "..data"))
	if err != nil {
		return false
	}
	filepath.WalkDir(root, func(_ string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			count++
		}
		return nil
	})
	for name, file := range files {
		content, err := os.ReadFile(filepath.Join(root, filepath.Clean("/"+name)))
		if err != nil || !bytes.Equal(content, file.data) {
			return false
		}
	}
	return count == len(files)
}

func topOf(name string) string {
	clean := filepath.Clean("/" + name)[1:]
	for i := range clean {
		if clean[i] == '/' {
			return clean[:i]
		}
	}
	return clean
}
