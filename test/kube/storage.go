package kube

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// StorageClass is the default storage class of clusters with controllers and a node that
// runs pods.
const StorageClass = "folder"

// provisioner names what fills claims of StorageClass.
const provisioner = "axle.test/folder"

// startStorage makes the default storage class, and gives each claim of it a folder
// until the cluster is closed.
func startStorage(ctx context.Context, c *Cluster, client kubernetes.Interface) error {
	class := &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{Name: StorageClass, Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
		Provisioner: provisioner,
	}
	if _, err := client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	c.background(func(ctx context.Context) { provision(ctx, c, client) })
	return nil
}

// folder makes the volume that a claim gets. The process kubelet makes it when a pod wants it;
// a real one wants it to be there, and gives it to the pod's group.
func folder(c *Cluster, volume *corev1.PersistentVolume, name string) error {
	path := filepath.Join(c.dir, "volumes", name)
	if c.cfg.Node == "" {
		volume.Spec.HostPath = &corev1.HostPathVolumeSource{Path: path}
		return nil
	}
	volume.Spec.Local = &corev1.LocalVolumeSource{Path: path}
	volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{c.cfg.Node}}},
	}}}}
	return os.MkdirAll(path, 0o755)
}

// provision makes a volume for each claim that has none. The controller-manager binds
// them. A claim that failed is seen again every second.
func provision(ctx context.Context, c *Cluster, client kubernetes.Interface) {
	claims := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "persistentvolumeclaims", metav1.NamespaceAll, fields.Everything())
	give := func(obj any) {
		claim := obj.(*corev1.PersistentVolumeClaim)
		if claim.Status.Phase != corev1.ClaimPending && claim.Status.Phase != "" || claim.Spec.StorageClassName == nil || *claim.Spec.StorageClassName != StorageClass {
			return
		}
		volume := &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: "pvc-" + string(claim.UID), Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": provisioner}},
			Spec: corev1.PersistentVolumeSpec{
				Capacity: claim.Spec.Resources.Requests, AccessModes: claim.Spec.AccessModes, StorageClassName: StorageClass,
				PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
				ClaimRef:                      &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
			},
		}
		if err := folder(c, volume, string(claim.UID)); err != nil {
			c.bed.log.Warn("make the folder of a claim", "namespace", claim.Namespace, "claim", claim.Name, "err", err)
			return
		}
		if _, err := client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) && ctx.Err() == nil {
			c.bed.log.Warn("give a claim a folder", "namespace", claim.Namespace, "claim", claim.Name, "err", err)
		}
	}
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: claims, ObjectType: &corev1.PersistentVolumeClaim{}, ResyncPeriod: time.Second,
		Handler: cache.ResourceEventHandlerFuncs{AddFunc: give, UpdateFunc: func(_, obj any) { give(obj) }},
	})
	informer.RunWithContext(klog.NewContext(ctx, logr.FromSlogHandler(c.bed.log.Handler())))
}
