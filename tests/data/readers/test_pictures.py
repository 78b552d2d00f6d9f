"""One image file to one array: every pixel kind, orientation and damage."""

import io
import pickle

import numpy as np
import pytest
import torch
from PIL import Image

import augerino as ag
from augerino.data.readers import pictures
from augerino.data.readers.pictures import Form, UnreadableImage, decode, read_header, read_mask
from tests.data.made import picture


def encoded(image, form="PNG", **options):
    file = io.BytesIO()
    image.save(file, form, **options)
    file.seek(0)
    return file


def read(file, **changes):
    header = read_header(file, "a.png", resize=False)
    form = {
        "channels": 1 if header.grey else 3,
        "height": header.height,
        "width": header.width,
        "fine": header.fine,
    }
    file.seek(0)
    return decode(file, "a.png", Form(**{**form, "resize": False, **changes}))


@pytest.mark.parametrize("form", ["PNG", "TIFF", "BMP", "PPM", "WEBP", "JPEG", "GIF"])
def test_every_format_gives_the_picture(form):
    image = Image.new("RGB", (6, 4), (200, 100, 50))
    image.paste((0, 0, 255), (0, 0, 3, 4))
    options = (
        {"lossless": True}
        if form == "WEBP"
        else {"quality": 100, "subsampling": 0}
        if form == "JPEG"
        else {}
    )
    x = read(encoded(image, form, **options))
    assert x.shape == (3, 4, 6) and x.dtype == torch.uint8
    expected = torch.from_numpy(np.asarray(image).copy()).permute(2, 0, 1)
    assert (x.int() - expected.int()).abs().max() <= (6 if form == "JPEG" else 0)


def test_grey_bilevel_palette_and_cmyk():
    grey = picture(channels=1)
    assert torch.equal(read(encoded(grey))[0], torch.from_numpy(np.asarray(grey).copy()))
    assert torch.equal(read(encoded(grey), channels=3), read(encoded(grey)).repeat(3, 1, 1))
    assert set(read(encoded(grey.convert("1"))).unique().tolist()) == {0, 255}
    palette = picture().convert("P")
    assert torch.equal(
        read(encoded(palette)),
        torch.from_numpy(np.asarray(palette.convert("RGB")).copy()).permute(2, 0, 1),
    )
    cmyk = read(encoded(Image.new("CMYK", (4, 4), (255, 0, 0, 0)), "TIFF"))
    assert cmyk[:, 0, 0].tolist() == [0, 255, 255]


def test_transparent_pixels_are_laid_over_black():
    image = Image.new("RGBA", (2, 1), (200, 100, 50, 0))
    image.putpixel((1, 0), (200, 100, 50, 255))
    x = read(encoded(image))
    assert x[:, 0, 0].tolist() == [0, 0, 0] and x[:, 0, 1].tolist() == [200, 100, 50]
    assert read_header(encoded(image), "a", resize=False).clear
    grey = Image.new("LA", (1, 1), (200, 0))
    assert read(encoded(grey)).tolist() == [[[0]]]


@pytest.mark.parametrize("form", ["PNG", "TIFF"])
def test_sixteen_bits_are_scaled_not_clipped(form):
    values = np.array([[0, 255, 256], [30000, 60000, 65535]], dtype=np.uint16)
    x = read(encoded(Image.fromarray(values), form))
    assert x.dtype == torch.float32
    assert np.allclose(x[0].numpy(), values / 65535, atol=1e-7)


def test_floats_must_lie_in_the_unit_interval():
    values = np.array([[0.25, 1.0]], dtype=np.float32)
    assert read(encoded(Image.fromarray(values), "TIFF")).flatten().tolist() == [0.25, 1.0]
    with pytest.raises(ag.InputError, match="outside 0 to 1"):
        read(encoded(Image.fromarray(values * 300), "TIFF"))


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("form", ["PNG", "TIFF", "JPEG"])
def test_orientation_is_honoured(orientation, form):
    from PIL import ImageOps

    image = Image.new("L", (16, 8), 0)
    image.paste(255, (0, 0, 8, 4))
    tags = Image.Exif()
    tags[0x0112] = orientation
    file = encoded(image, form, exif=tags)
    with Image.open(file) as opened:
        expected = np.asarray(ImageOps.exif_transpose(opened)).astype(int)
    file.seek(0)
    x = read(file)
    assert x.shape[1:] == expected.shape == ((8, 16) if orientation < 5 else (16, 8))
    assert np.abs(x[0].numpy().astype(int) - expected).max() <= 2


def test_resizing_keeps_shapes_and_takes_the_middle():
    image = Image.new("L", (30, 10), 0)
    image.paste(200, (10, 0, 20, 10))
    file = encoded(image)
    x = decode(file, "a", Form(1, 5, 5, resize=True, fine=False))
    assert (
        x.shape == (1, 5, 5) and (x[:, :, 1:4] > 190).all()
    )  # the edge is not mixed with pixels outside of the box
    fine = Image.fromarray(np.full((8, 12), 40000, dtype=np.uint16))
    x = decode(encoded(fine), "a", Form(3, 4, 4, resize=True, fine=True))
    assert x.shape == (3, 4, 4) and torch.allclose(x, torch.tensor(40000 / 65535), atol=1e-5)


def test_of_several_frames_the_first_counts():
    file = io.BytesIO()
    Image.new("L", (4, 4), 10).save(
        file, "GIF", save_all=True, append_images=[Image.new("L", (4, 4), 200)]
    )
    file.seek(0)
    assert read(file).unique().tolist() == [10]


def test_one_pixel_is_an_image():
    assert read(encoded(Image.new("L", (1, 1), 7))).tolist() == [[[7]]]


def test_huge_images_are_rejected_before_they_are_decoded(monkeypatch):
    file = encoded(Image.new("L", (5000, 4000)))
    with pytest.raises(
        UnreadableImage, match=r"4000×5000 pixels, more than the limit of 17 million: .* --size"
    ):
        read_header(file, "a.png", resize=False)
    file.seek(0)
    assert read_header(file, "a.png", resize=True).width == 5000
    file.seek(0)
    assert decode(file, "a.png", Form(1, 4, 4, resize=True, fine=False)).shape == (1, 4, 4)
    bomb = bytearray(file.getvalue())
    bomb[16:24] = (50000).to_bytes(4, "big") * 2
    import zlib

    bomb[29:33] = zlib.crc32(bytes(bomb[12:29])).to_bytes(4, "big")
    with pytest.raises(UnreadableImage, match="million pixels"):
        read_header(io.BytesIO(bytes(bomb)), "a.png", resize=True)
    monkeypatch.setattr(pictures, "LARGEST_SHRUNK", 10)
    with pytest.raises(UnreadableImage, match="shrink it first"):
        read_header(encoded(Image.new("L", (4, 4))), "a.png", resize=True)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty file"),
        (b"rubbish", "none of PNG"),
        (b"\x89PNG\r\n\x1a\n" + bytes(40), "not a readable image"),
    ],
)
def test_a_file_that_is_no_image_is_reported(data, message):
    with pytest.raises(UnreadableImage, match=message):
        read_header(io.BytesIO(data), "a.png", resize=False)


def test_a_truncated_image_is_rejected():
    data = encoded(picture(height=32, width=32), "JPEG").getvalue()
    with pytest.raises(UnreadableImage, match=r"a\.png is not a readable image: .*truncated"):
        read(io.BytesIO(data[: len(data) // 2]))


def test_programs_are_not_started_for_exotic_formats():
    with pytest.raises(UnreadableImage, match="none of PNG"):
        read_header(
            io.BytesIO(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 1 1\n"), "a.png", resize=False
        )


def test_masks_are_numbers():
    numbers = np.array([[0, 1], [2, 255]], dtype=np.uint8)
    palette = Image.fromarray(numbers)
    palette.putpalette([7] * 768)
    assert read_mask(encoded(Image.fromarray(numbers)), "a").tolist() == numbers.tolist()
    assert read_mask(encoded(palette), "a").tolist() == numbers.tolist()
    assert read_mask(encoded(Image.fromarray(numbers > 0)), "a").tolist() == [[0, 1], [1, 1]]
    with pytest.raises(UnreadableImage, match="one class number per pixel"):
        read_mask(encoded(picture()), "a")
    with pytest.raises(UnreadableImage, match="JPEG, which blurs"):
        read_mask(encoded(Image.fromarray(numbers), "JPEG"), "a")


def test_the_message_survives_a_worker():
    wrapped = (
        "Caught UnreadableImage in a worker.\nTraceback ...\n"
        "augerino.data.pictures.UnreadableImage: a is bad.\n"
    )
    assert str(UnreadableImage(wrapped)) == "a is bad."
    assert str(pickle.loads(pickle.dumps(UnreadableImage("a is bad.")))) == "a is bad."
