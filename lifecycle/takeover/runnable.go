package takeover

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Runnable are the Deployments of the live receipt with a container whose image the
// working tree's catalogue says how to run, in the order of the receipt. Others cannot be
// taken over; of these, more may keep a plan from it. What cannot be read is left out.
func (f Facts) Runnable() (list []types.NamespacedName) {
	if f.Record == nil {
		return nil
	}
	for _, d := range f.Declared {
		if !d.isDeployment() {
			continue
		}
		found, err := uses(d, f.Record)
		runs := func(u use) bool {
			image, there := f.image(u.image)
			return u.container != "" && there && image.Run != nil
		}
		if err == nil && slices.ContainsFunc(found, runs) {
			list = append(list, d.key())
		}
	}
	return list
}
