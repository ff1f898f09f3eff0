//go:build linux

package inside

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/cell"
	"github.com/netlab/netlab/datapath/image"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/occupant"
)

// imageStore is where the engine unpacks images, each once for all pods that use it: in
// memory that only its own mount namespace has, so that nothing is left when it ends, however
// it does.
const imageStore = "/run/netlab-images"

// imageFolder is the root directory of an image.
func imageFolder(digest string) string {
	return filepath.Join(imageStore, strings.ReplaceAll(digest, ":", "-"))
}

// unpackImages unpacks the images of a plan that are not there yet. What is wrong with one is
// an error of the first pod that uses it.
func unpackImages(ctx context.Context, want *plan.Plan) error {
	for i := range want.Netns {
		for _, x := range want.Netns[i].Execs {
			if x.Image.Digest == "" {
				continue
			}
			if err := unpackImage(ctx, x.Image); err != nil {
				return &ProgramError{Pod: x.Name, File: x.Origin.File, Line: x.Origin.Line, Image: true,
					Why: fmt.Sprintf("cannot have its image %s: %v", x.Image.Name, err)}
			}
		}
	}
	return nil
}

func unpackImage(ctx context.Context, x occupant.Image) error {
	folder := imageFolder(x.Digest)
	if isDir(folder) {
		return nil
	}
	img, err := image.OpenFile(x.Path)
	if errors.Is(err, fs.ErrNotExist) && strings.HasPrefix(x.Path, "/run/") {
		return fmt.Errorf("%w; labs do not see /run: put it elsewhere", err)
	}
	if err != nil {
		return err
	}
	defer img.Close()
	if img.Digest != x.Digest {
		return fmt.Errorf("it has changed since it was read, from %s to %s: try again", x.Digest, img.Digest)
	}
	if err := store(); err != nil {
		return err
	}
	half := folder + ".new"
	if err := os.Mkdir(half, 0o700); err != nil {
		return err
	}
	if err := img.Unpack(ctx, half, cell.HostID(cell.Owner()), image.Usual); err != nil {
		if errors.Is(err, unix.ENOSPC) {
			err = fmt.Errorf("it does not fit into memory: %w", err)
		}
		return errors.Join(err, os.RemoveAll(half))
	}
	return os.Rename(half, folder)
}

// store makes the store.
func store() error {
	if isDir(imageStore) {
		return nil
	}
	if err := os.Mkdir(imageStore, 0o700); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", imageStore, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=700"); err != nil {
		return errors.Join(os.NewSyscallError("mount", err), os.Remove(imageStore))
	}
	return nil
}

// ForgetImages removes the images that no program of the lab has.
func ForgetImages(has *plan.Plan) {
	entries, _ := os.ReadDir(imageStore)
	for _, e := range entries {
		folder := filepath.Join(imageStore, e.Name())
		used := has != nil && slices.ContainsFunc(has.Netns, func(n plan.Netns) bool {
			return slices.ContainsFunc(n.Execs, func(x occupant.Exec) bool { return imageFolder(x.Image.Digest) == folder })
		})
		if !used {
			_ = os.RemoveAll(folder)
		}
	}
}

// wallImage prepares the calling thread for a cell in an image. It returns what there is to
// say about it.
func wallImage(tree *cell.Tree, x *occupant.Exec, of etc, owner int) (remark string, err error) {
	given := []occupant.File{{Path: "/etc/hosts", Content: string(of.hosts), Mode: 0o644}, {Path: resolvConf, Content: cmp.Or(of.resolver.Conf, resolver), Mode: 0o644}}
	readOnly, err := cell.WallImage(tree, cell.Image{Given: given, Files: x.Files}, owner)
	switch {
	case err != nil:
		return "", err
	case readOnly:
		return "its image is read-only but for /tmp and /run, since this kernel does not stack file systems here (overlay; for ordinary users Linux 5.11)", nil
	}
	return "", nil
}
